//! What the pool does, told to the recorder where one is loaded: it writes it into the same recording.

use std::{
    mem, ptr,
    sync::atomic::{
        AtomicPtr, AtomicU8,
        Ordering::{Acquire, Relaxed, Release},
    },
};

use whyoom_allocators::Grant;

use crate::{device::DevicePool, driver::Stream, lanes::Key};

/// The recorder's functions, as it lays them out.
#[repr(C)]
struct Port {
    version: u32,
    /// Of this structure, in bytes.
    size: u32,
    block_alloc: extern "C" fn(i32, u64, u64, u64, u64, u64),
    block_free_requested: extern "C" fn(i32, u64, u64, u64),
    block_free: extern "C" fn(i32, u64, u64, u64),
    segment_map: extern "C" fn(i32, u64, u64, u64, u64, u32),
    segment_unmap: extern "C" fn(i32, u64, u64, u64, u64),
    out_of_memory: extern "C" fn(i32, u64, u64, u64, u64),
    totals: extern "C" fn(i32, u64, u64),
    cap: extern "C" fn(i32, u64),
}

/// The layout that is known here.
const VERSION: u32 = 1;

static PORT: AtomicPtr<Port> = AtomicPtr::new(ptr::null_mut());
static STATE: AtomicU8 = AtomicU8::new(UNKNOWN);
const UNKNOWN: u8 = 0;
const OFF: u8 = 1;
const ON: u8 = 2;

/// Looks for the recorder, which is loaded before the program or not at all.
pub(crate) fn find() {
    // SAFETY: the name ends with a zero; the handle is the documented one for all loaded libraries.
    let found = unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"whyoom_recorder_port".as_ptr()) };
    let port = if found.is_null() {
        ptr::null()
    } else {
        // SAFETY: the recorder's function of this name takes nothing and returns its port or null.
        let ask =
            unsafe { mem::transmute::<*mut libc::c_void, extern "C" fn() -> *const Port>(found) };
        ask()
    };
    // SAFETY: where it is not null it points to the recorder's table, which lives as long as the
    // process; every version begins with its number.
    let fits = !port.is_null()
        && unsafe { (*port).version == VERSION && (*port).size as usize >= size_of::<Port>() };
    PORT.store(if fits { port.cast_mut() } else { ptr::null_mut() }, Release);
    STATE.store(if fits { ON } else { OFF }, Release);
}

/// Whether anybody listens.
#[inline]
pub(crate) fn is_on() -> bool {
    STATE.load(Relaxed) == ON
}

fn port() -> Option<&'static Port> {
    // SAFETY: null, or the recorder's table: see `find`.
    unsafe { PORT.load(Acquire).as_ref() }
}

/// A block was given.
pub(crate) fn block_alloc(device: u32, key: Key, grant: &Grant, requested: u64) {
    if let Some(port) = port() {
        let Key { stream, pool } = key;
        (port.block_alloc)(
            device as i32,
            shown(stream),
            pool,
            grant.address,
            requested,
            grant.size,
        );
    }
}

/// A block was given back, and waits for other streams.
pub(crate) fn block_free_requested(device: u32, key: Key, address: u64) {
    if let Some(port) = port() {
        (port.block_free_requested)(device as i32, shown(key.stream), key.pool, address);
    }
}

/// A block is free.
pub(crate) fn block_free(device: u32, key: Key, address: u64) {
    if let Some(port) = port() {
        (port.block_free)(device as i32, shown(key.stream), key.pool, address);
    }
}

/// Pages were mapped. They serve small and large requests.
pub(crate) fn segment_map(device: u32, key: Key, address: u64, size: u64) {
    if let Some(port) = port() {
        let Key { stream, pool } = key;
        (port.segment_map)(device as i32, shown(stream), pool, address, size, 0);
    }
}

/// Pages have left their addresses.
pub(crate) fn segment_unmap(device: u32, key: Key, address: u64, size: u64) {
    if let Some(port) = port() {
        (port.segment_unmap)(device as i32, shown(key.stream), key.pool, address, size);
    }
}

/// A request was refused.
pub(crate) fn out_of_memory(device: &DevicePool, stream: Stream, requested: u64) {
    if let Some(port) = port() {
        let (live, reserved) = (device.budget.live(), device.budget.reserved());
        (port.out_of_memory)(device.index as i32, shown(stream), requested, live, reserved);
    }
}

/// What is held now.
pub(crate) fn totals(device: u32, allocated: u64, reserved: u64) {
    if let Some(port) = port() {
        (port.totals)(device as i32, allocated, reserved);
    }
}

/// What may be reserved at most; 0 where there is no cap.
pub(crate) fn cap(device: u32, bytes: u64) {
    if let Some(port) = port() {
        (port.cap)(device as i32, bytes);
    }
}

/// Memory that is bound to no stream is shown under the other name of the default stream, by which no
/// lane goes.
pub(crate) fn shown(stream: Stream) -> u64 {
    if stream == crate::lanes::UNORDERED { 1 } else { stream.0 }
}
