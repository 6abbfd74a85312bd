//! What tells one simulated device from another, and from a real one: the driver library and NVML
//! must say the same, so both ask here.

use crate::models::GpuModel;

/// The driver's version. Monitors parse it, so it is a number like a real one; no driver with this
/// number was released.
pub const DRIVER_VERSION: &str = "595.00.00";

/// NVML's version: the major version of its interface, then the driver's.
pub const NVML_VERSION: &str = "13.595.00.00";

/// The newest CUDA version that the driver serves: 1000 × major + 10 × minor.
pub const CUDA_VERSION: i32 = 13020;

/// The vendor number of NVIDIA on the PCI bus.
pub const PCI_VENDOR: u16 = 0x10DE;

/// The PCI domain that all devices are in.
pub const PCI_DOMAIN: u32 = 0;

/// The device number that each has on its bus.
pub const PCI_DEVICE: u32 = 0;

/// What every device identifier begins with, so that whoever meets one finds where it comes from.
const UUID_MARK: &[u8; 10] = b"whyoom-lab";

/// The name that users see. It says that nothing real stands behind it.
#[must_use]
pub fn device_name(model: &GpuModel) -> String {
    format!("{} (simulated)", model.name)
}

/// The number of the bus that the device is alone on.
#[must_use]
pub fn pci_bus(index: usize) -> u32 {
    u32::try_from(index + 1).unwrap_or(u32::MAX)
}

/// The device's place on the PCI bus as NVML writes it, with eight digits for the domain.
#[must_use]
pub fn pci_bus_id(index: usize) -> String {
    format!("{PCI_DOMAIN:08X}:{:02X}:{PCI_DEVICE:02X}.0", pci_bus(index))
}

/// The device's place on the PCI bus as CUDA and older NVML write it, with four digits for the
/// domain.
#[must_use]
pub fn short_pci_bus_id(index: usize) -> String {
    format!("{PCI_DOMAIN:04X}:{:02X}:{PCI_DEVICE:02X}.0", pci_bus(index))
}

/// The index of the device at a place, written `domain:bus:device.function` in hexadecimal; the
/// domain and the function may be missing. The caller checks that there are so many devices.
#[must_use]
pub fn index_at_pci_bus_id(text: &str) -> Option<usize> {
    let hexadecimal = |digits: &str| u32::from_str_radix(digits, 16).ok();
    let (place, function) = text.split_once('.').unwrap_or((text, "0"));
    let (rest, device) = place.rsplit_once(':')?;
    let (domain, bus) = rest.rsplit_once(':').unwrap_or(("0", rest));
    let fixed = [hexadecimal(domain)?, hexadecimal(device)?, hexadecimal(function)?];
    if fixed != [PCI_DOMAIN, PCI_DEVICE, 0] {
        return None;
    }
    usize::try_from(hexadecimal(bus)?.checked_sub(1)?).ok()
}

/// The device's identifier: the mark, then its index.
#[must_use]
pub fn uuid(index: usize) -> [u8; 16] {
    let mut bytes = [0; 16];
    bytes[..UUID_MARK.len()].copy_from_slice(UUID_MARK);
    bytes[12..].copy_from_slice(&pci_bus(index).wrapping_sub(1).to_be_bytes());
    bytes
}

/// The device's identifier as text.
#[must_use]
pub fn uuid_text(index: usize) -> String {
    let mut text = String::from("GPU");
    for (position, byte) in uuid(index).into_iter().enumerate() {
        if matches!(position, 0 | 4 | 6 | 8 | 10) {
            text.push('-');
        }
        text.push_str(&format!("{byte:02x}"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_on_the_bus_leads_back_to_its_device() {
        assert_eq!(pci_bus_id(0), "00000000:01:00.0");
        assert_eq!(short_pci_bus_id(15), "0000:10:00.0");
        for index in 0..16 {
            assert_eq!(index_at_pci_bus_id(&pci_bus_id(index)), Some(index));
            assert_eq!(index_at_pci_bus_id(&short_pci_bus_id(index).to_lowercase()), Some(index));
        }
        assert_eq!(index_at_pci_bus_id("02:00"), Some(1));
        for nowhere in ["", "01", "0000:00:00.0", "0001:01:00.0", "01:01.0", "01:00.1", "x:00.0"] {
            assert_eq!(index_at_pci_bus_id(nowhere), None, "{nowhere}");
        }
    }

    #[test]
    fn identifiers_carry_the_mark_and_the_index() {
        assert_eq!(uuid_text(0), "GPU-7768796f-6f6d-2d6c-6162-000000000000");
        assert_eq!(uuid_text(11), "GPU-7768796f-6f6d-2d6c-6162-00000000000b");
    }
}
