//! What was measured, beside what the table has.

use std::collections::BTreeMap;

use whyoom_lab_core::models::{self, GpuModel};

use crate::{error::Result, figure::Figure};

/// What the name of a simulated device ends with.
pub(crate) const SIMULATED: &str = " (simulated)";

/// One figure, measured or not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Measurement {
    /// It was measured.
    Measured {
        /// The figure.
        value: u64,
        /// How.
        by: String,
    },
    /// It could not be.
    NotMeasured {
        /// Why not.
        why: String,
    },
}

impl Measurement {
    /// The figure, where it was measured.
    #[must_use]
    pub fn value(&self) -> Option<u64> {
        match self {
            Self::Measured { value, .. } => Some(*value),
            Self::NotMeasured { .. } => None,
        }
    }
}

/// A figure beside the table's.
#[derive(Clone, Copy, Debug)]
pub struct Comparison<'a> {
    /// Which.
    pub figure: Figure,
    /// What was measured.
    pub measurement: &'a Measurement,
    /// What the table has, where it has the model.
    pub table: Option<u64>,
}

impl Comparison<'_> {
    /// Whether both are the same, where both are there.
    #[must_use]
    pub fn is_equal(&self) -> Option<bool> {
        Some(self.measurement.value()? == self.table?)
    }
}

/// All that was measured of one device.
#[derive(Clone, Debug)]
pub struct Calibration {
    /// The device's name as the driver says it.
    pub device_name: String,
    /// Its number.
    pub device: u32,
    /// Its place on the PCI bus.
    pub pci_bus_id: String,
    /// The newest CUDA version that the driver serves: 1000 × major + 10 × minor.
    pub cuda_version: u32,
    pub(crate) measured: BTreeMap<Figure, Measurement>,
}

impl Calibration {
    /// Whether the device is simulated: then nothing here is evidence of hardware.
    #[must_use]
    pub fn is_simulated(&self) -> bool {
        self.device_name.ends_with(SIMULATED)
    }

    /// The name that the device has, or that the real one has which is simulated.
    #[must_use]
    pub fn model_name(&self) -> &str {
        self.device_name.strip_suffix(SIMULATED).unwrap_or(&self.device_name)
    }

    /// The model in the table, if it is there.
    #[must_use]
    pub fn model(&self) -> Option<&'static GpuModel> {
        models::find(self.model_name())
    }

    /// Every figure beside the table's.
    pub fn comparisons(&self) -> impl Iterator<Item = Comparison<'_>> {
        let model = self.model();
        self.measured.iter().map(move |(figure, measurement)| Comparison {
            figure: *figure,
            measurement,
            table: model.map(|model| figure.of(model)),
        })
    }

    /// A figure, where it was measured.
    #[must_use]
    pub fn value(&self, figure: Figure) -> Option<u64> {
        self.measured.get(&figure).and_then(Measurement::value)
    }

    pub(crate) fn record(&mut self, figure: Figure, outcome: Result<u64>, by: impl Into<String>) {
        let measurement = match outcome {
            Ok(value) => Measurement::Measured { value, by: by.into() },
            Err(error) => Measurement::NotMeasured { why: error.to_string() },
        };
        self.measured.insert(figure, measurement);
    }
}

#[cfg(test)]
mod tests {
    use whyoom_lab_core::{identity, models::MODELS};

    use super::*;

    #[test]
    fn simulated_devices_are_known_by_their_names() {
        for model in MODELS {
            let mut calibration = Calibration {
                device_name: identity::device_name(model),
                device: 0,
                pci_bus_id: String::new(),
                cuda_version: 0,
                measured: BTreeMap::new(),
            };
            assert!(calibration.is_simulated());
            assert_eq!(calibration.model().map(|found| found.name), Some(model.name));
            calibration.device_name = model.name.to_owned();
            assert!(!calibration.is_simulated());
            assert_eq!(calibration.model().map(|found| found.name), Some(model.name));
        }
    }
}
