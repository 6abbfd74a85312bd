//! Allocations by the driver's own functions, served from the pool. The recorder, which stands in the
//! way of those functions, asks here first.

use std::{
    ffi::{c_int, c_void},
    sync::atomic::Ordering::Relaxed,
};

use whyoom_gpu::driver as gpu;
use whyoom_trace::pool_interface::{
    Copy, Forget, Idle, MemAlloc, MemAllocAsync, MemFree, MemFreeAsync, NOT_MINE, Serving,
    StreamGone,
};

use super::{
    answer, answer_of,
    pool::{stream_of, whyoom_pool_forget, whyoom_pool_stream_gone},
};
use crate::{
    device::DevicePool,
    driver::{Driver, Stream},
    error::PoolError,
    peers, process,
};

// What the recorder looks up by name has the signatures that it takes them for.
const _: Serving = whyoom_pool_serving;
const _: MemAlloc = whyoom_pool_mem_alloc;
const _: MemFree = whyoom_pool_mem_free;
const _: MemAllocAsync = whyoom_pool_mem_alloc_async;
const _: MemFreeAsync = whyoom_pool_mem_free_async;
const _: StreamGone = whyoom_pool_stream_gone;
const _: Forget = whyoom_pool_forget;
const _: Idle = whyoom_pool_idle;
const _: Copy = whyoom_pool_copy;

/// Whether the driver's allocations are to be served.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn whyoom_pool_serving() -> c_int {
    c_int::from(process::is_serving())
}

/// Whether they are to be served from now on. What was served stays the pool's.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn whyoom_pool_serve(on: c_int) {
    process::serving().store(on != 0, Relaxed);
}

/// The pool of the device that is current; none where the driver has to say what is wrong.
fn current() -> Option<&'static DevicePool> {
    if !process::is_serving() {
        return None;
    }
    let device = process::driver().ok()?.current_device().ok()?;
    process::device(device as c_int).ok()
}

/// `cuMemAlloc`.
///
/// # Safety
/// `address` is where one address may be written, or null.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn whyoom_pool_mem_alloc(address: *mut u64, bytes: usize) -> c_int {
    let Some(pool) = current().filter(|_| bytes > 0 && !address.is_null()) else { return NOT_MINE };
    // SAFETY: not null, and the caller's to be written.
    unsafe { given(pool, pool.alloc_unordered(bytes as u64), address) }
}

/// `cuMemAllocAsync`.
///
/// # Safety
/// As [`whyoom_pool_mem_alloc`].
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn whyoom_pool_mem_alloc_async(
    address: *mut u64,
    bytes: usize,
    stream: *mut c_void,
) -> c_int {
    let Some(pool) = current().filter(|_| bytes > 0 && !address.is_null()) else { return NOT_MINE };
    let stream = stream_of(stream);
    // In a capture the allocation is a node of the graph, and the graph's own.
    if stream == Stream::PER_THREAD || pool.driver.is_capturing(stream).unwrap_or(true) {
        return NOT_MINE;
    }
    // SAFETY: not null, and the caller's to be written.
    unsafe { given(pool, pool.alloc(bytes as u64, stream), address) }
}

/// # Safety
/// `address` may be written.
unsafe fn given(pool: &DevicePool, result: Result<u64, PoolError>, address: *mut u64) -> c_int {
    if let Ok(got) = result {
        // SAFETY: the caller says so.
        unsafe { *address = got };
    }
    answer_of(pool, result.map(drop))
}

/// `cuMemFree`. As the driver's own, it waits until nothing uses the memory any more.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn whyoom_pool_mem_free(address: u64) -> c_int {
    let Ok(pool) = process::device_of(address) else { return NOT_MINE };
    if !pool.has_block(address) {
        return NOT_MINE;
    }
    // Where it cannot wait (a graph is captured, or the device has failed) nothing is freed, as without us.
    match pool.driver.synchronize() {
        Ok(()) => answer(pool.free(address, None)),
        Err(refusal) => refusal.0 as c_int,
    }
}

/// `cuMemFreeAsync`.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn whyoom_pool_mem_free_async(address: u64, stream: *mut c_void) -> c_int {
    let Ok(pool) = process::device_of(address) else { return NOT_MINE };
    if !pool.has_block(address) {
        return NOT_MINE;
    }
    let stream = stream_of(stream);
    answer(pool.free_from(address, stream))
}

/// Bytes of the current device that lie idle in the pool: while the driver's allocations are served they
/// are as free as those that the driver itself has left. 0 where they are not served.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn whyoom_pool_idle() -> u64 {
    current().map_or(0, DevicePool::idle)
}

/// A copy within or between devices. The pool makes it where one of them does not reach the other's memory.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn whyoom_pool_copy(
    target: u64,
    source: u64,
    bytes: usize,
    stream: *mut c_void,
) -> c_int {
    peers::copy(target, source, bytes as u64, gpu::Stream(stream as u64)).unwrap_or(NOT_MINE)
}
