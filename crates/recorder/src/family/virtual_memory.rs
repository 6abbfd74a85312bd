//! Virtual memory: addresses, physical memory, and mappings of one to the other.

use std::ffi::c_void;

use whyoom_trace::{Action, Address, Bytes, DeviceId, HandleId};

use super::{captures, out_parameter::written, physical::Physical, refusals::refused};
use crate::{
    declare::hooks,
    record::{Call, Cause, Location, NO_STACK, PerProcess, cause_of, clock, device_of},
    resolution::real::Function,
    result_code::{Code, OUT_OF_MEMORY},
};

/// `CUmemLocation`, with its enumeration as a number.
#[derive(Clone, Copy, Default)]
#[repr(C)]
pub(crate) struct MemLocation {
    kind: u32,
    id: i32,
}

impl MemLocation {
    /// The device; other kinds are places of the host.
    pub(super) fn device(self) -> DeviceId {
        if self.kind == 1 { device_of(self.id) } else { DeviceId::HOST }
    }
}

/// `CUmemAllocationProp`, likewise.
#[derive(Clone, Copy, Default)]
#[repr(C)]
pub(crate) struct Properties {
    kind: u32,
    handle_types: u32,
    location: MemLocation,
    windows: u64,
    flags: [u8; 8],
}

static PHYSICAL: PerProcess<Physical> = PerProcess::new();

static PROPERTIES: Function<unsafe extern "C" fn(*mut Properties, u64) -> Code> =
    Function::named(c"cuMemGetAllocationPropertiesFromHandle");

hooks! { VirtualMemory;
    Required (address: *mut u64, bytes: usize, alignment: usize, wanted: u64, flags: u64)
    [cuMemAddressReserve = "cuMemAddressReserve" since 10020]
    after { |call, (), result| if !address.is_null() {
        // SAFETY: a call that succeeded has written the address.
        let address = Address(if result == 0 { unsafe { written(address) } } else { 0 });
        let action = Action::Reserve { address, size: Bytes(bytes as u64) };
        note(call, clock::now(), Location::NOWHERE, result, action);
    } }

    Required (address: u64, bytes: usize)
    [cuMemAddressFree = "cuMemAddressFree" since 10020]
    around { |_| clock::now(); |call, time, result| {
        let (address, size) = (Address(address), Bytes(bytes as u64));
        let action = Action::Unreserve { address, size };
        note_gone(call, time, Location::NOWHERE, result, action);
    } }

    Required (handle: *mut u64, bytes: usize, properties: *const Properties, flags: u64)
    [cuMemCreate = "cuMemCreate" since 10020]
    after { |call, (), result| created(call, handle, bytes as u64, properties, result) }

    Required (handle: u64)
    [cuMemRelease = "cuMemRelease" since 10020]
    around { |call| (clock::now(), PHYSICAL.of(call.process).releasing(handle)); |call, (time, device), result| {
        let live = call.process.part.live();
        if result != 0 {
            PHYSICAL.of(call.process).reuse(handle);
        } else {
            PHYSICAL.of(call.process).released(handle, live);
        }
        let action = Action::Release { handle: HandleId(handle) };
        note_gone(call, time, Location::on(device), result, action);
    } }

    Required (address: u64, bytes: usize, offset: usize, handle: u64, flags: u64)
    [cuMemMap = "cuMemMap" since 10020]
    after { |call, (), result| {
        let time = clock::now();
        let done = result == 0;
        let device = PHYSICAL.of(call.process).mapped(address, handle, done);
        let (address, size, handle) = (Address(address), Bytes(bytes as u64), HandleId(handle));
        let action = Action::Map { address, size, handle };
        note(call, time, Location::on(device).in_pool(captures::under_way()), result, action);
        if result == OUT_OF_MEMORY {
            let location = Location::on(device);
            let location = if device == DeviceId::HOST { call.here() } else { location };
            refused(call, location, size.0, result);
        }
    } }

    Required (address: u64, bytes: usize, access: *const c_void, count: usize)
    [cuMemSetAccess = "cuMemSetAccess" since 10020]
    failed { |call, (), result| if result == OUT_OF_MEMORY {
        let mapped = PHYSICAL.of(call.process).device_at(address);
        let location = mapped.map_or_else(|| call.here(), Location::on);
        refused(call, location, bytes as u64, result);
    } }

    Required (address: u64, bytes: usize)
    [cuMemUnmap = "cuMemUnmap" since 10020]
    around { |call| (clock::now(), PHYSICAL.of(call.process).device_at(address)); |call, (time, device), result| {
        if result == 0 {
            PHYSICAL.of(call.process).unmapped(address, bytes as u64, call.process.part.live());
        }
        let device = device.filter(|_| result == 0).unwrap_or(DeviceId::HOST);
        let (address, size) = (Address(address), Bytes(bytes as u64));
        note_gone(call, time, Location::on(device), result, Action::Unmap { address, size });
    } }

    Required (handle: *mut u64, address: *mut c_void)
    [cuMemRetainAllocationHandle = "cuMemRetainAllocationHandle" since 11000]
    after { |call, (), result| if result == 0 {
        // SAFETY: a call that succeeded has written the handle.
        PHYSICAL.of(call.process).reuse(unsafe { written(handle) });
    } }

    Required (handle: *mut u64, shared: *mut c_void, kind: u32)
    [cuMemImportFromShareableHandle = "cuMemImportFromShareableHandle" since 10020]
    after { |call, (), result| if result == 0 {
        // SAFETY: likewise.
        let handle = unsafe { written(handle) };
        // Another process has taken it, so that it counts there.
        let live = call.process.part.live();
        PHYSICAL.of(call.process).enter(handle, device_behind(handle), 0, live);
    } }
}

/// Whether the driver tried at all.
fn tells(result: Code) -> bool {
    matches!(cause_of(result), Cause::None | Cause::Memory)
}

fn note(call: &Call, time: u64, location: Location, result: Code, action: Action) {
    if tells(result) {
        call.write(time, location, call.stack(), result, action);
    }
}

/// Writes that something was given back.
fn note_gone(call: &Call, time: u64, location: Location, result: Code, action: Action) {
    if tells(result) {
        call.write(time, location, NO_STACK, result, action);
    }
}

fn created(call: &Call, handle: *const u64, size: u64, wanted: *const Properties, result: Code) {
    let time = clock::now();
    if handle.is_null() || wanted.is_null() || !tells(result) {
        return;
    }
    // SAFETY: the program's own properties, and where the call succeeded, the handle that it wrote.
    let (wanted, handle) =
        unsafe { (written(wanted), if result == 0 { written(handle) } else { 0 }) };
    let location = Location::on(wanted.location.device());
    let stack = call.stack();
    let action = Action::Create { handle: HandleId(handle), size: Bytes(size) };
    call.write(time, location, stack, result, action);
    if result == 0 {
        PHYSICAL.of(call.process).enter(handle, location.device, size, call.process.part.live());
    } else {
        call.failed(location, stack, result, size);
    }
}

fn device_behind(handle: u64) -> DeviceId {
    let mut found = Properties::default();
    // SAFETY: the driver writes the properties where it is told to.
    let told = PROPERTIES.get().is_some_and(|get| unsafe { get(&mut found, handle) } == 0);
    if told { found.location.device() } else { DeviceId::UNKNOWN }
}
