//! Finding devices.

use std::ffi::{CStr, c_char};

use nvml_wrapper_sys::bindings as nvml;
use whyoom_lab_abi::{In, Out, Text, exports};
use whyoom_lab_core::identity;

use crate::{
    device::Handle,
    session,
    status::{Code, Failure, Result, check_version},
};

fn count() -> Result<u32> {
    u32::try_from(session::machine()?.device_count()).map_err(|_| Failure::Unknown)
}

fn by_pci_bus_id(text: Text, handle: Out<Handle>) -> Result {
    let machine = session::machine()?;
    let index = identity::index_at_pci_bus_id(&text.get()?);
    let there = index.filter(|index| *index < machine.device_count());
    Ok(handle.put(Handle::of(there.ok_or(Failure::NotFound)?)?)?)
}

/// The first device for which it is true.
fn find(is_it: impl Fn(usize) -> bool) -> Result<Handle> {
    let devices = 0..session::machine()?.device_count();
    Handle::of(devices.into_iter().find(|index| is_it(*index)).ok_or(Failure::NotFound)?)
}

fn by_uuid_text(text: &str) -> Result<Handle> {
    find(|index| identity::uuid_text(index).eq_ignore_ascii_case(text))
}

/// An identifier in a structure that says which form it has.
fn by_tagged_uuid(given: nvml::nvmlUUID_v1_t) -> Result<Handle> {
    match given.type_ {
        nvml::nvmlUUIDType_t_NVML_UUID_TYPE_ASCII => {
            // SAFETY: any bytes are characters, so this reading of the union is always valid.
            let characters: [c_char; 41] = unsafe { given.value.str_ };
            let bytes = characters.map(|character| character as u8);
            let text = CStr::from_bytes_until_nul(&bytes).map_err(|_| Failure::InvalidArgument)?;
            by_uuid_text(&text.to_string_lossy())
        }
        nvml::nvmlUUIDType_t_NVML_UUID_TYPE_BINARY => {
            // SAFETY: any bytes are bytes, so this reading of the union is always valid.
            let bytes = unsafe { given.value.bytes };
            find(|index| identity::uuid(index) == bytes)
        }
        _ => Err(Failure::InvalidArgument),
    }
}

exports! { Code;
    fn nvmlDeviceGetCount(place: Out<u32>) { Ok(place.put(count()?)?) }

    fn nvmlDeviceGetCount_v2(place: Out<u32>) { Ok(place.put(count()?)?) }

    fn nvmlDeviceGetHandleByIndex(index: u32, handle: Out<Handle>) {
        Ok(handle.put(Handle::of(index as usize)?)?)
    }

    fn nvmlDeviceGetHandleByIndex_v2(index: u32, handle: Out<Handle>) {
        Ok(handle.put(Handle::of(index as usize)?)?)
    }

    fn nvmlDeviceGetHandleByPciBusId(text: Text, handle: Out<Handle>) {
        by_pci_bus_id(text, handle)
    }

    fn nvmlDeviceGetHandleByPciBusId_v2(text: Text, handle: Out<Handle>) {
        by_pci_bus_id(text, handle)
    }

    fn nvmlDeviceGetHandleByUUID(text: Text, handle: Out<Handle>) {
        session::machine()?;
        Ok(handle.put(by_uuid_text(&text.get()?)?)?)
    }

    fn nvmlDeviceGetHandleByUUIDV(uuid: In<nvml::nvmlUUID_v1_t>, handle: Out<Handle>) {
        session::machine()?;
        check_version(Out(uuid.0.cast_mut()), 1)?;
        Ok(handle.put(by_tagged_uuid(uuid.get()?)?)?)
    }

    fn nvmlDeviceGetIndex(handle: Handle, index: Out<u32>) {
        Ok(index.put(handle.device()?.index as u32)?)
    }

    fn nvmlDeviceGetMinorNumber(handle: Handle, number: Out<u32>) {
        Ok(number.put(handle.device()?.index as u32)?)
    }
}
