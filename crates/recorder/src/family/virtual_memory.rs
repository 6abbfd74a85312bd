//! Virtual memory: addresses, physical memory, and mappings of one to the other.

use std::ffi::c_void;

use whyoom_trace::{Action, Address, Bytes, DeviceId, HandleId};

use super::{captures, written};
use crate::{
    declare::hooks,
    hook::Code,
    record::{Call, Cause, NO_STACK, Place, cause_of, clock, device_of},
    road::real::Function,
};

/// `CUmemLocation`, with its enumeration as a number.
#[derive(Clone, Copy, Default)]
#[repr(C)]
pub(crate) struct Location {
    kind: u32,
    id: i32,
}

impl Location {
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
    location: Location,
    windows: u64,
    flags: [u8; 8],
}

static PROPERTIES: Function<unsafe extern "C" fn(*mut Properties, u64) -> Code> =
    Function::named(c"cuMemGetAllocationPropertiesFromHandle");

hooks! { VirtualMemory;
    Required (address: *mut u64, bytes: usize, alignment: usize, wanted: u64, flags: u64)
    [cuMemAddressReserve = "cuMemAddressReserve" since 10020]
    after { |call, (), result| if !address.is_null() {
        // SAFETY: a call that succeeded has written the address.
        let address = Address(if result == 0 { unsafe { written(address) } } else { 0 });
        let action = Action::Reserve { address, size: Bytes(bytes as u64) };
        note(call, clock::now(), Place::NOWHERE, result, action);
    } }

    Required (address: u64, bytes: usize)
    [cuMemAddressFree = "cuMemAddressFree" since 10020]
    around { |_| clock::now(); |call, time, result| {
        let (address, size) = (Address(address), Bytes(bytes as u64));
        let action = Action::Unreserve { address, size };
        note_gone(call, time, Place::NOWHERE, result, action);
    } }

    Required (handle: *mut u64, bytes: usize, properties: *const Properties, flags: u64)
    [cuMemCreate = "cuMemCreate" since 10020]
    after { |call, (), result| created(call, handle, bytes as u64, properties, result) }

    Required (handle: u64)
    [cuMemRelease = "cuMemRelease" since 10020]
    around { |call| (clock::now(), call.process.state.physical.releasing(handle)); |call, (time, device), result| {
        let live = call.process.part.live();
        if result != 0 {
            call.process.state.physical.reuse(handle);
        } else {
            call.process.state.physical.released(handle, live);
        }
        let action = Action::Release { handle: HandleId(handle) };
        note_gone(call, time, Place::on(device), result, action);
    } }

    Required (address: u64, bytes: usize, offset: usize, handle: u64, flags: u64)
    [cuMemMap = "cuMemMap" since 10020]
    after { |call, (), result| {
        let time = clock::now();
        let done = result == 0;
        let device = call.process.state.physical.mapped(address, handle, done);
        let (address, size, handle) = (Address(address), Bytes(bytes as u64), HandleId(handle));
        let action = Action::Map { address, size, handle };
        note(call, time, Place::on(device).in_pool(captures::under_way()), result, action);
    } }

    Required (address: u64, bytes: usize)
    [cuMemUnmap = "cuMemUnmap" since 10020]
    around { |call| (clock::now(), call.process.state.physical.device_at(address)); |call, (time, device), result| {
        if result == 0 {
            call.process.state.physical.unmapped(address, bytes as u64, call.process.part.live());
        }
        let device = device.filter(|_| result == 0).unwrap_or(DeviceId::HOST);
        let (address, size) = (Address(address), Bytes(bytes as u64));
        note_gone(call, time, Place::on(device), result, Action::Unmap { address, size });
    } }

    Required (handle: *mut u64, address: *mut c_void)
    [cuMemRetainAllocationHandle = "cuMemRetainAllocationHandle" since 11000]
    after { |call, (), result| if result == 0 {
        // SAFETY: a call that succeeded has written the handle.
        call.process.state.physical.reuse(unsafe { written(handle) });
    } }

    Required (handle: *mut u64, shared: *mut c_void, kind: u32)
    [cuMemImportFromShareableHandle = "cuMemImportFromShareableHandle" since 10020]
    after { |call, (), result| if result == 0 {
        // SAFETY: likewise.
        let handle = unsafe { written(handle) };
        // Another process has taken it, so that it counts there.
        let live = call.process.part.live();
        call.process.state.physical.enter(handle, device_behind(handle), 0, live);
    } }
}

/// Whether the driver tried at all.
fn tells(result: Code) -> bool {
    matches!(cause_of(result), Cause::None | Cause::Memory)
}

fn note(call: &Call, time: u64, place: Place, result: Code, action: Action) {
    if tells(result) {
        call.write(time, place, call.stack(), result, action);
    }
}

/// Writes that something was given back.
fn note_gone(call: &Call, time: u64, place: Place, result: Code, action: Action) {
    if tells(result) {
        call.write(time, place, NO_STACK, result, action);
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
    let place = Place::on(wanted.location.device());
    let stack = call.stack();
    let action = Action::Create { handle: HandleId(handle), size: Bytes(size) };
    call.write(time, place, stack, result, action);
    if result == 0 {
        call.process.state.physical.enter(handle, place.device, size, call.process.part.live());
    } else {
        call.failed(place, stack, result, size);
    }
}

fn device_behind(handle: u64) -> DeviceId {
    let mut found = Properties::default();
    // SAFETY: the driver writes the properties where it is told to.
    let told = PROPERTIES.get().is_some_and(|get| unsafe { get(&mut found, handle) } == 0);
    if told { found.location.device() } else { DeviceId::UNKNOWN }
}
