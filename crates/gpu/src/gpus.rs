//! The devices of this machine, asked through NVML.

use nvml_wrapper::{
    Nvml,
    enum_wrappers::device::{RetirementCause, TemperatureSensor},
    error::NvmlError,
};

use crate::{
    device::{Device, Ecc, Silent, Utilization},
    error::GpuError,
    instances, memory, processes, raw,
};

/// How much of each device is asked: every answer takes 1 to 30 ms, and a node has up to 16 devices.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asked {
    /// All that NVML tells.
    All,
    /// Which it is, its memory, and who holds it.
    Memory,
}

/// The devices of a machine at one moment.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Devices {
    /// Those that answer, in the driver's order.
    pub answering: Vec<Device>,
    /// Those that do not.
    pub silent: Vec<Silent>,
}

/// The driver's library, opened once and asked as often as one likes.
#[derive(Debug)]
pub struct Gpus {
    nvml: Nvml,
}

impl Gpus {
    /// Loads the driver's library from wherever the system finds it.
    pub fn open() -> Result<Self, GpuError> {
        Ok(Self { nvml: Nvml::init().map_err(GpuError::opening)? })
    }

    /// Every device at this moment. One that has failed hides no other.
    ///
    /// # Errors
    /// No device answers.
    pub fn read(&self, asked: Asked) -> Result<Devices, GpuError> {
        let mut devices = Devices::default();
        let mut refusal = None;
        for index in 0..self.count()? {
            match self.device(index, asked) {
                Ok(device) => devices.answering.push(device),
                Err(error) => {
                    let why = error.to_string();
                    let named = why.starts_with("GPU ");
                    let why = if named { why } else { format!("GPU {index}: {why}") };
                    devices.silent.push(Silent { index, why });
                    refusal.get_or_insert(error);
                }
            }
        }
        match refusal {
            Some(refusal) if devices.answering.is_empty() => Err(refusal),
            _ => Ok(devices),
        }
    }

    /// The number in each device's file name (`/dev/nvidia3`): it need not be the driver's own number.
    #[must_use]
    pub fn minors(&self, devices: &[Device]) -> Vec<Option<u32>> {
        let minor =
            |device: &Device| self.nvml.device_by_index(device.index).ok()?.minor_number().ok();
        devices.iter().map(minor).collect()
    }

    /// The driver's version.
    #[must_use]
    pub fn driver_version(&self) -> Option<String> {
        self.nvml.sys_driver_version().ok()
    }

    fn count(&self) -> Result<u32, GpuError> {
        self.nvml.device_count().map_err(|error| GpuError::asking("how many GPUs there are", error))
    }

    fn device(&self, index: u32, asked: Asked) -> Result<Device, GpuError> {
        let about = |what| move |error| GpuError::about(index, what, error);
        let device = self.nvml.device_by_index(index).map_err(about("which GPU it is"))?;
        let mig = device.mig_mode().ok().map(|mode| mode.current != 0);
        let parts = if mig == Some(true) { instances::of(&device) } else { Vec::new() };
        let memory = memory::of(&device, &parts).map_err(about("how much memory it has"))?;
        let known = Device {
            index,
            name: device.name().unwrap_or_else(|_| "GPU".to_owned()),
            uuid: device.uuid().unwrap_or_default(),
            bus_id: device.pci_info().map(|pci| pci.bus_id).unwrap_or_default(),
            memory: memory.bytes,
            unified_memory: memory.is_host,
            processes: processes::of(&device, &parts),
            mig,
            ..Device::default()
        };
        Ok(match asked {
            Asked::Memory => known,
            Asked::All => with_details(&device, known),
        })
    }
}

/// Adds what is of no use to who looks at a failure.
fn with_details(device: &nvml_wrapper::Device<'_>, known: Device) -> Device {
    Device {
        utilization: device
            .utilization_rates()
            .ok()
            .map(|busy| Utilization { gpu: busy.gpu, memory: busy.memory }),
        temperature: device.temperature(TemperatureSensor::Gpu).ok(),
        power_milliwatts: device.power_usage().ok(),
        power_limit_milliwatts: device.enforced_power_limit().ok(),
        ecc: device
            .is_ecc_enabled()
            .ok()
            .map(|ecc| Ecc { enabled: ecc.currently_enabled, pending: ecc.pending_enabled }),
        retired_pages: retired_pages(device).ok(),
        remapped_rows: raw::uncorrectable_remapped_rows(device).ok(),
        persistence: device.is_in_persistent_mode().ok(),
        ..known
    }
}

/// Pages given up for either cause.
fn retired_pages(device: &nvml_wrapper::Device<'_>) -> Result<u32, NvmlError> {
    let count = |cause| device.retired_pages(cause).map(|pages| pages.len());
    let pages = count(RetirementCause::MultipleSingleBitEccErrors)?
        + count(RetirementCause::DoubleBitEccError)?;
    Ok(u32::try_from(pages).unwrap_or(u32::MAX))
}
