//! The parts of a divided device (MIG). What the whole answers only to a privileged caller, the parts
//! answer to those who may use them.

use nvml_wrapper::Device;

/// The parts that this caller may ask.
pub(crate) fn of<'nvml>(device: &Device<'nvml>) -> Vec<Device<'nvml>> {
    // The count is of places, not of parts: an empty place answers that nothing was found.
    let places = device.mig_device_count().unwrap_or_default();
    (0..places).filter_map(|place| device.mig_device_by_index(place).ok()).collect()
}
