//! What a device is: its name, its place, its model's figures.

use std::ffi::c_char;

use nvml_wrapper_sys::bindings as nvml;
use whyoom_lab_abi::{Out, exports};
use whyoom_lab_core::identity;

use crate::{
    device::{Device, Handle},
    status::{Code, Failure, Result, check_version, text_field, version_of, write_text},
};

/// The PCI class of a device that computes and has no screen.
const PCI_CLASS_DISPLAY: u32 = 0x03;
const PCI_SUBCLASS_3D: u32 = 0x02;

impl Device {
    /// The model's and the vendor's number in one, as the PCI configuration space has them.
    fn pci_device_id(&self) -> u32 {
        self.spec.model.pci_device.value << 16 | u32::from(identity::PCI_VENDOR)
    }

    fn pci_info(&self) -> nvml::nvmlPciInfo_t {
        nvml::nvmlPciInfo_t {
            busIdLegacy: text_field(&identity::short_pci_bus_id(self.index)),
            domain: identity::PCI_DOMAIN,
            bus: identity::pci_bus(self.index),
            device: identity::PCI_DEVICE,
            pciDeviceId: self.pci_device_id(),
            pciSubSystemId: 0,
            busId: text_field(&identity::pci_bus_id(self.index)),
        }
    }

    fn extended_pci_info(&self) -> nvml::nvmlPciInfoExt_v1_t {
        nvml::nvmlPciInfoExt_v1_t {
            version: version_of::<nvml::nvmlPciInfoExt_v1_t>(1),
            domain: identity::PCI_DOMAIN,
            bus: identity::pci_bus(self.index),
            device: identity::PCI_DEVICE,
            pciDeviceId: self.pci_device_id(),
            pciSubSystemId: 0,
            baseClass: PCI_CLASS_DISPLAY,
            subClass: PCI_SUBCLASS_3D,
            busId: text_field(&identity::pci_bus_id(self.index)),
        }
    }

    fn architecture(&self) -> u32 {
        match self.spec.model.compute_capability {
            (6, _) => nvml::NVML_DEVICE_ARCH_PASCAL,
            (7, 5) => nvml::NVML_DEVICE_ARCH_TURING,
            (7, _) => nvml::NVML_DEVICE_ARCH_VOLTA,
            (8, 9) => nvml::NVML_DEVICE_ARCH_ADA,
            (8, _) => nvml::NVML_DEVICE_ARCH_AMPERE,
            (9, _) => nvml::NVML_DEVICE_ARCH_HOPPER,
            (10..=12, _) => nvml::NVML_DEVICE_ARCH_BLACKWELL,
            _ => nvml::NVML_DEVICE_ARCH_UNKNOWN,
        }
    }

    /// The product line, told from the name.
    fn brand(&self) -> u32 {
        let name = self.spec.model.name;
        if name.contains("GeForce") {
            nvml::nvmlBrandType_enum_NVML_BRAND_GEFORCE
        } else if name.contains("Tesla") {
            nvml::nvmlBrandType_enum_NVML_BRAND_TESLA
        } else if name.contains("RTX") {
            nvml::nvmlBrandType_enum_NVML_BRAND_NVIDIA_RTX
        } else {
            nvml::nvmlBrandType_enum_NVML_BRAND_NVIDIA
        }
    }

    /// The single-precision units: multiprocessors, times what the CUDA programming guide says each
    /// of that compute capability has.
    fn cores(&self) -> Result<u32> {
        let each = match self.spec.model.compute_capability {
            (6 | 8, 0) | (7, _) => 64,
            (6 | 8..=12, _) => 128,
            _ => return Err(Failure::NotSupported),
        };
        Ok(self.spec.model.multiprocessors.value * each)
    }
}

exports! { Code;
    fn nvmlDeviceGetName(handle: Handle, name: Out<c_char>, room: u32) {
        write_text(name, room, &identity::device_name(handle.device()?.spec.model))
    }

    fn nvmlDeviceGetUUID(handle: Handle, uuid: Out<c_char>, room: u32) {
        write_text(uuid, room, &identity::uuid_text(handle.device()?.index))
    }

    fn nvmlDeviceGetPciInfo_v3(handle: Handle, place: Out<nvml::nvmlPciInfo_t>) {
        Ok(place.put(handle.device()?.pci_info())?)
    }

    fn nvmlDeviceGetPciInfoExt(handle: Handle, place: Out<nvml::nvmlPciInfoExt_v1_t>) {
        let device = handle.device()?;
        check_version(place, 1)?;
        Ok(place.put(device.extended_pci_info())?)
    }

    fn nvmlDeviceGetCudaComputeCapability(handle: Handle, major: Out<i32>, minor: Out<i32>) {
        let capability = handle.device()?.spec.model.compute_capability;
        major.put(capability.0.into())?;
        Ok(minor.put(capability.1.into())?)
    }

    fn nvmlDeviceGetArchitecture(handle: Handle, architecture: Out<u32>) {
        Ok(architecture.put(handle.device()?.architecture())?)
    }

    fn nvmlDeviceGetBrand(handle: Handle, brand: Out<u32>) {
        Ok(brand.put(handle.device()?.brand())?)
    }

    fn nvmlDeviceGetNumGpuCores(handle: Handle, cores: Out<u32>) {
        Ok(cores.put(handle.device()?.cores()?)?)
    }

    fn nvmlDeviceGetMemoryBusWidth(handle: Handle, bits: Out<u32>) {
        Ok(bits.put(handle.device()?.spec.model.bus_width_bits.value)?)
    }

    fn nvmlDeviceGetBusType(handle: Handle, kind: Out<u32>) {
        handle.device()?;
        Ok(kind.put(nvml::NVML_BUS_TYPE_PCIE)?)
    }

    fn nvmlDeviceGetMultiGpuBoard(handle: Handle, several: Out<u32>) {
        handle.device()?;
        Ok(several.put(0)?)
    }
}
