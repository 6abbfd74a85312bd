//! The pool itself.

use std::{
    ffi::{c_int, c_void},
    ptr, slice,
};

use super::{answer, answer_of};
use crate::{
    driver::Stream,
    process,
    statistics::{BlockInfo, Statistics},
};

/// What this header calls itself.
const VERSION: u32 = 1;
/// `CUDA_ERROR_INVALID_VALUE`.
const INVALID_VALUE: c_int = 1;
/// `CU_STREAM_LEGACY`, which is also called 0.
const ALSO_LEGACY: u64 = 1;

/// The stream that a caller means.
#[inline]
pub(super) fn stream_of(handle: *mut c_void) -> Stream {
    match handle as u64 {
        ALSO_LEGACY => Stream::LEGACY,
        handle => Stream(handle),
    }
}

/// The version of the interface.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn whyoom_pool_version() -> u32 {
    VERSION
}

/// Memory of a device for a stream.
///
/// # Safety
/// `address` is where one pointer may be written, or null.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn whyoom_pool_alloc(
    device: c_int,
    bytes: usize,
    stream: *mut c_void,
    address: *mut *mut c_void,
) -> c_int {
    if address.is_null() {
        return INVALID_VALUE;
    }
    // SAFETY: not null, and the caller's to be written.
    unsafe { *address = ptr::null_mut() };
    if bytes == 0 {
        return 0;
    }
    let found = stream_of(stream)
        .told_apart()
        .and_then(|stream| process::device(device).map(|pool| (pool, stream)));
    let (pool, stream) = match found {
        Ok(found) => found,
        Err(error) => return answer(Err(error)),
    };
    let got = pool.alloc(bytes as u64, stream);
    if let Ok(got) = got {
        // SAFETY: as above.
        unsafe { *address = got as *mut c_void };
    }
    answer_of(pool, got.map(drop))
}

/// Takes memory back, after what the stream was given so far.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn whyoom_pool_free(address: *mut c_void, stream: *mut c_void) -> c_int {
    if address.is_null() {
        return 0;
    }
    let address = address as u64;
    let free = |stream| process::device_of(address)?.free(address, Some(stream));
    answer(stream_of(stream).told_apart().and_then(free))
}

/// Another stream uses it too.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn whyoom_pool_use(address: *mut c_void, stream: *mut c_void) -> c_int {
    let address = address as u64;
    let add = |stream| process::device_of(address)?.add_use(address, stream);
    answer(stream_of(stream).told_apart().and_then(add))
}

/// Gives idle memory back to the device.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn whyoom_pool_trim(device: c_int, keep_bytes: usize) -> c_int {
    answer(process::device(device).map(|pool| pool.trim(keep_bytes as u64)))
}

/// What may be reserved at most; 0 for all.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn whyoom_pool_set_cap(device: c_int, bytes: usize) -> c_int {
    let cap = Some(bytes as u64).filter(|cap| *cap > 0);
    answer(process::device(device).map(|pool| pool.set_cap(cap)))
}

/// What the pool holds and did.
///
/// # Safety
/// `out` is null, or begins with a number of bytes that may be written there.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn whyoom_pool_read_statistics(
    device: c_int,
    out: *mut Statistics,
) -> c_int {
    if out.is_null() {
        return INVALID_VALUE;
    }
    // SAFETY: not null; it begins with its size.
    let room = unsafe { ptr::read_unaligned(out.cast::<u32>()) } as usize;
    let length = room.min(size_of::<Statistics>());
    if length < size_of::<[u32; 2]>() {
        return INVALID_VALUE;
    }
    let read = process::device(device).map(|pool| {
        let statistics = Statistics { size: length as u32, ..pool.statistics() };
        // SAFETY: that many bytes are the caller's to be written, and no more are copied than there
        // are; they are plain numbers.
        unsafe {
            ptr::copy_nonoverlapping(
                (&raw const statistics).cast::<u8>(),
                out.cast::<u8>(),
                length,
            );
        };
    });
    answer(read)
}

/// Peaks start at what is now.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn whyoom_pool_reset_peaks(device: c_int) -> c_int {
    answer(process::device(device).map(crate::device::DevicePool::reset_peaks))
}

/// Counts start at nothing.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn whyoom_pool_reset_totals(device: c_int) -> c_int {
    answer(process::device(device).map(crate::device::DevicePool::reset_totals))
}

/// The blocks with memory behind them: how many there are; at most `room` are written.
///
/// # Safety
/// `out` is where so many structures may be written; it may be null where `room` is 0.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn whyoom_pool_blocks(
    device: c_int,
    out: *mut BlockInfo,
    room: usize,
) -> usize {
    let Ok(pool) = process::device(device) else { return 0 };
    let blocks = pool.blocks();
    if !out.is_null() {
        let length = room.min(blocks.len());
        // SAFETY: the caller gives room for that many.
        let out = unsafe { slice::from_raw_parts_mut(out, length) };
        out.copy_from_slice(&blocks[..length]);
    }
    blocks.len()
}

/// Opens a private pool.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn whyoom_pool_begin(device: c_int, high: u64, low: u64) -> c_int {
    answer(process::device(device).map(|pool| pool.begin_private((high, low))))
}

/// Closes a private pool.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn whyoom_pool_end(device: c_int, high: u64, low: u64) -> c_int {
    answer(process::device(device).map(|pool| pool.end_private((high, low))))
}

/// A private pool has one user less.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn whyoom_pool_release(device: c_int, high: u64, low: u64) -> c_int {
    answer(process::device(device).map(|pool| pool.release_private((high, low))))
}

/// What its user calls the private pool of a block.
///
/// # Safety
/// `high` and `low` are where one number each may be written, or null.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn whyoom_pool_private_name(
    device: c_int,
    pool: u64,
    high: *mut u64,
    low: *mut u64,
) -> c_int {
    let named = process::device(device).ok().and_then(|device| device.captures.name_of(pool));
    let Some(name) = named.filter(|_| !high.is_null() && !low.is_null()) else {
        return INVALID_VALUE;
    };
    // SAFETY: not null, and the caller's to be written.
    unsafe { (*high, *low) = name };
    0
}

/// A stream is about to be destroyed.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn whyoom_pool_stream_gone(stream: *mut c_void) -> c_int {
    if !crate::fork::is_child() {
        let stream = stream_of(stream);
        process::devices().for_each(|pool| pool.end_stream(stream));
    }
    0
}

/// A device is about to be reset: everything on it goes.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn whyoom_pool_forget(device: c_int) -> c_int {
    let known = |pool: &&crate::device::DevicePool| i64::from(pool.index) == i64::from(device);
    if !crate::fork::is_child() {
        process::devices().filter(known).for_each(crate::device::DevicePool::forget);
    }
    0
}
