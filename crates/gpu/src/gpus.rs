//! The devices of this machine, asked through NVML.

use nvml_wrapper::{
    Nvml,
    enum_wrappers::device::{RetirementCause, TemperatureSensor},
    error::NvmlError,
};

use crate::{
    device::{Device, Ecc, Utilization},
    error::GpuError,
    instances, memory, processes, raw,
};

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

    /// Every device at this moment, in the driver's order.
    pub fn read(&self) -> Result<Vec<Device>, GpuError> {
        (0..self.count()?).map(|index| self.device(index)).collect()
    }

    /// The number in each device's file name (`/dev/nvidia3`), in the order of [`Self::read`]: it
    /// need not be the driver's own number.
    #[must_use]
    pub fn minors(&self) -> Vec<Option<u32>> {
        let minor = |index| self.nvml.device_by_index(index).ok()?.minor_number().ok();
        (0..self.count().unwrap_or_default()).map(minor).collect()
    }

    /// The driver's version.
    #[must_use]
    pub fn driver_version(&self) -> Option<String> {
        self.nvml.sys_driver_version().ok()
    }

    fn count(&self) -> Result<u32, GpuError> {
        self.nvml.device_count().map_err(|error| GpuError::asking("how many GPUs there are", error))
    }

    fn device(&self, index: u32) -> Result<Device, GpuError> {
        let about = |what| move |error| GpuError::about(index, what, error);
        let device = self.nvml.device_by_index(index).map_err(about("which GPU it is"))?;
        let mig = device.mig_mode().ok().map(|mode| mode.current != 0);
        let parts = if mig == Some(true) { instances::of(&device) } else { Vec::new() };
        Ok(Device {
            index,
            name: device.name().unwrap_or_else(|_| "GPU".to_owned()),
            uuid: device.uuid().unwrap_or_default(),
            bus_id: device.pci_info().map(|pci| pci.bus_id).unwrap_or_default(),
            memory: memory::of(&device, &parts).map_err(about("how much memory it has"))?,
            processes: processes::of(&device, &parts),
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
            retired_pages: retired_pages(&device).ok(),
            remapped_rows: raw::uncorrectable_remapped_rows(&device).ok(),
            persistence: device.is_in_persistent_mode().ok(),
            mig,
        })
    }
}

/// Pages given up for either cause.
fn retired_pages(device: &nvml_wrapper::Device<'_>) -> Result<u32, NvmlError> {
    let count = |cause| device.retired_pages(cause).map(|pages| pages.len());
    let pages = count(RetirementCause::MultipleSingleBitEccErrors)?
        + count(RetirementCause::DoubleBitEccError)?;
    Ok(u32::try_from(pages).unwrap_or(u32::MAX))
}
