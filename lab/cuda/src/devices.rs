//! Devices: count, names, sizes, peers.

use std::ffi::c_char;

use whyoom_lab_abi::{Out, Text, exports};
use whyoom_lab_core::{Error, driver::Driver, identity};

use crate::{
    attributes,
    process::with,
    status::{Result, Status},
};

/// `CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED`.
const ACCESS_SUPPORTED: u32 = 2;

/// A device's number, where there is such a device.
pub(crate) fn known(driver: &Driver, device: i32) -> Result<usize> {
    let index = usize::try_from(device).map_err(|_| Error::InvalidDevice)?;
    driver.device_spec(index)?;
    Ok(index)
}

/// Which device of the machine it is: what tells one from another does not change with visibility.
fn in_machine(driver: &Driver, device: i32) -> Result<usize> {
    Ok(driver.machine_index(known(driver, device)?)?)
}

exports! { Status;
    fn cuDeviceGetCount(count: Out<i32>) {
        with(|driver| Ok(count.put(driver.device_count() as i32)?))
    }

    fn cuDeviceGet(device: Out<i32>, ordinal: i32) {
        with(|driver| Ok(device.put(known(driver, ordinal)? as i32)?))
    }

    fn cuDeviceGetName(name: Out<c_char>, length: i32, device: i32) {
        with(|driver| {
            let model = driver.device_spec(known(driver, device)?)?.model;
            Ok(name.put_text(&identity::device_name(model), length.max(0) as usize)?)
        })
    }

    fn cuDeviceGetUuid_v2(uuid: Out<[u8; 16]>, device: i32) {
        with(|driver| Ok(uuid.put(identity::uuid(in_machine(driver, device)?))?))
    }

    fn cuDeviceGetUuid(uuid: Out<[u8; 16]>, device: i32) {
        with(|driver| Ok(uuid.put(identity::uuid(in_machine(driver, device)?))?))
    }

    fn cuDeviceTotalMem_v2(bytes: Out<usize>, device: i32) {
        with(|driver| Ok(bytes.put(driver.device_spec(known(driver, device)?)?.total as usize)?))
    }

    fn cuDeviceGetAttribute(value: Out<i32>, attribute: u32, device: i32) {
        with(|driver| {
            let device = known(driver, device)?;
            let index = driver.machine_index(device)?;
            let spec = driver.device_spec(device)?;
            let found = attributes::value(attribute, index, &spec, driver.quirks());
            Ok(value.put(found.ok_or(Error::InvalidValue)? as i32)?)
        })
    }

    fn cuDeviceComputeCapability(major: Out<i32>, minor: Out<i32>, device: i32) {
        with(|driver| {
            let spec = driver.device_spec(known(driver, device)?)?;
            major.put(spec.model.compute_capability.0.into())?;
            Ok(minor.put(spec.model.compute_capability.1.into())?)
        })
    }

    fn cuDeviceGetPCIBusId(text: Out<c_char>, length: i32, device: i32) {
        with(|driver| {
            let place = identity::short_pci_bus_id(in_machine(driver, device)?);
            Ok(text.put_text(&place, length.max(0) as usize)?)
        })
    }

    fn cuDeviceGetByPCIBusId(device: Out<i32>, text: Text) {
        let index = identity::index_at_pci_bus_id(&text.get()?).ok_or(Error::InvalidDevice)?;
        with(|driver| Ok(device.put(driver.ordinal(index)? as i32)?))
    }

    fn cuDeviceCanAccessPeer(can: Out<i32>, device: i32, peer: i32) {
        with(|driver| {
            let differ = known(driver, device)? != known(driver, peer)?;
            Ok(can.put((differ && !driver.quirks().no_peers).into())?)
        })
    }

    fn cuDeviceGetP2PAttribute(value: Out<i32>, attribute: u32, source: i32, target: i32) {
        with(|driver| {
            let differ = known(driver, source)? != known(driver, target)?;
            if !differ {
                return Err(Error::InvalidDevice.into());
            }
            let supported = attribute == ACCESS_SUPPORTED && !driver.quirks().no_peers;
            Ok(value.put(supported.into())?)
        })
    }
}
