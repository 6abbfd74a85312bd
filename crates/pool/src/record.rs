//! What the pool does, told to the recorder where one is loaded: it writes it into the same recording.

use std::{
    mem, ptr,
    sync::atomic::{
        AtomicPtr, AtomicU8,
        Ordering::{Acquire, Relaxed, Release},
    },
};

use whyoom_allocators::{Grant, policies::stitch};
use whyoom_trace::pool_interface::{FIND_CALLBACKS, FindCallbacks, PoolCallbacks};

use crate::{
    driver::Stream,
    lane_key::{Key, UNORDERED},
};

static CALLBACKS: AtomicPtr<PoolCallbacks> = AtomicPtr::new(ptr::null_mut());
static STATE: AtomicU8 = AtomicU8::new(UNKNOWN);
const UNKNOWN: u8 = 0;
const OFF: u8 = 1;
const ON: u8 = 2;

/// Looks for the recorder, which is loaded before the program or not at all.
pub(crate) fn find() {
    // SAFETY: the name ends with a zero; the handle is the documented one for all loaded libraries.
    let found = unsafe { libc::dlsym(libc::RTLD_DEFAULT, FIND_CALLBACKS.name.as_ptr()) };
    let callbacks = if found.is_null() {
        ptr::null()
    } else {
        // SAFETY: the recorder's function of this name takes nothing and returns its callbacks or null.
        let ask = unsafe { mem::transmute::<*mut libc::c_void, FindCallbacks>(found) };
        ask()
    };
    // SAFETY: where it is not null it points to the recorder's table, which lives as long as the
    // process; every version begins with its number.
    let fits = !callbacks.is_null()
        && unsafe { PoolCallbacks::fits((*callbacks).version, (*callbacks).size) };
    CALLBACKS.store(if fits { callbacks.cast_mut() } else { ptr::null_mut() }, Release);
    STATE.store(if fits { ON } else { OFF }, Release);
}

/// Whether anybody listens.
#[inline]
pub(crate) fn is_on() -> bool {
    STATE.load(Relaxed) == ON
}

fn callbacks() -> Option<&'static PoolCallbacks> {
    // SAFETY: null, or the recorder's table: see `find`.
    unsafe { CALLBACKS.load(Acquire).as_ref() }
}

/// A block was given.
pub(crate) fn block_alloc(device: u32, key: Key, grant: &Grant, requested: u64) {
    if let Some(callbacks) = callbacks() {
        let Key { stream, pool } = key;
        (callbacks.block_alloc)(
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
    if let Some(callbacks) = callbacks() {
        (callbacks.block_free_requested)(device as i32, shown(key.stream), key.pool, address);
    }
}

/// A block is free.
pub(crate) fn block_free(device: u32, key: Key, address: u64) {
    if let Some(callbacks) = callbacks() {
        (callbacks.block_free)(device as i32, shown(key.stream), key.pool, address);
    }
}

/// Pages were mapped. They serve small and large requests.
pub(crate) fn segment_map(device: u32, key: Key, address: u64, size: u64) {
    if let Some(callbacks) = callbacks() {
        let Key { stream, pool } = key;
        (callbacks.segment_map)(device as i32, shown(stream), pool, address, size, 0);
    }
}

/// Pages have left their addresses.
pub(crate) fn segment_unmap(device: u32, key: Key, address: u64, size: u64) {
    if let Some(callbacks) = callbacks() {
        (callbacks.segment_unmap)(device as i32, shown(key.stream), key.pool, address, size);
    }
}

/// A request was refused.
pub(crate) fn out_of_memory(device: u32, stream: Stream, requested: u64, budget: &stitch::Budget) {
    if let Some(callbacks) = callbacks() {
        let (live, reserved) = (budget.live(), budget.reserved());
        (callbacks.out_of_memory)(device as i32, shown(stream), requested, live, reserved);
    }
}

/// What is held now.
pub(crate) fn totals(device: u32, allocated: u64, reserved: u64) {
    if let Some(callbacks) = callbacks() {
        (callbacks.totals)(device as i32, allocated, reserved);
    }
}

/// What may be reserved at most; 0 where there is no cap.
pub(crate) fn cap(device: u32, bytes: u64) {
    if let Some(callbacks) = callbacks() {
        (callbacks.cap)(device as i32, bytes);
    }
}

/// Memory that is bound to no stream is shown under the other name of the default stream, by which no
/// lane goes.
pub(crate) fn shown(stream: Stream) -> u64 {
    if stream == UNORDERED { 1 } else { stream.0 }
}
