//! What PyTorch's pluggable allocator calls.

use std::ffi::{c_int, c_void};

use super::{complain, keep_error, keep_text, pool::stream_of};
use crate::{device::DevicePool, error::PoolError, fork, message, process, torch_error};

/// Memory for a tensor. Where there is none, PyTorch's own exception is thrown; null comes back where
/// that cannot be.
///
/// # Safety
/// Called by PyTorch, whose frames expect its exceptions.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn whyoom_torch_alloc(
    bytes: isize,
    device: c_int,
    stream: *mut c_void,
) -> *mut c_void {
    let Some(bytes) = u64::try_from(bytes).ok().filter(|bytes| *bytes > 0) else {
        return std::ptr::null_mut();
    };
    match allocate(bytes, device, stream) {
        Ok(address) => address as *mut c_void,
        Err(text) => {
            // SAFETY: nothing is left in this frame that has to be dropped: the text is the function's.
            unsafe { torch_error::throw_out_of_memory(text) };
            std::ptr::null_mut()
        }
    }
}

#[inline]
fn allocate(bytes: u64, device: c_int, stream: *mut c_void) -> Result<u64, String> {
    let pool = process::device(device).map_err(|error| refused(&error))?;
    pool.alloc(bytes, stream_of(stream)).map_err(|error| out_of_memory(pool, &error))
}

#[cold]
fn refused(error: &PoolError) -> String {
    keep_error(error);
    format!("whyoom's pool: {error}")
}

#[cold]
fn out_of_memory(pool: &DevicePool, error: &PoolError) -> String {
    let PoolError::OutOfMemory { requested } = error else { return refused(error) };
    let text = message::for_torch(pool, *requested);
    keep_text(&text);
    text
}

/// A tensor's memory comes back.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn whyoom_torch_free(
    address: *mut c_void,
    _bytes: isize,
    device: c_int,
    stream: *mut c_void,
) {
    if address.is_null() {
        return;
    }
    let free = |pool: &DevicePool| pool.free(address as u64, Some(stream_of(stream)));
    // PyTorch takes no error here, and goes on.
    complain(&process::device(device).and_then(free));
}

/// Another stream uses a tensor too.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn whyoom_torch_record_stream(address: *mut c_void, stream: *mut c_void) {
    let address = address as u64;
    let add = |pool: &DevicePool| pool.add_use(address, stream_of(stream));
    complain(&process::device_of(address).and_then(add));
}

/// A graph is captured from now on. Which streams belong to it is asked of the driver: `_filter` is a
/// C++ object.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn whyoom_torch_begin(
    device: c_int,
    high: u64,
    low: u64,
    _filter: *mut c_void,
) {
    let _ = process::device(device).map(|pool| pool.begin_private((high, low)));
}

/// The capture has ended.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn whyoom_torch_end(device: c_int, high: u64, low: u64) {
    let _ = process::device(device).map(|pool| pool.end_private((high, low)));
}

/// A graph has gone.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn whyoom_torch_release(device: c_int, high: u64, low: u64) {
    let _ = process::device(device).map(|pool| pool.release_private((high, low)));
}

/// The process may have so much of a device.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn whyoom_torch_fraction(fraction: f64, device: c_int) {
    let _ = process::device(device).map(|pool| {
        let cap = (fraction.clamp(0.0, 1.0) * pool.total() as f64) as u64;
        pool.set_cap(Some(cap).filter(|_| fraction < 1.0));
    });
}

/// Where the block around an address starts, and how long it is.
///
/// # Safety
/// `size` is where one number may be written, or null.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn whyoom_torch_base(
    address: *mut c_void,
    size: *mut usize,
) -> *mut c_void {
    let around =
        process::device_of(address as u64).ok().and_then(|pool| pool.block_around(address as u64));
    let Some((start, length)) = around else { return address };
    if !size.is_null() {
        // SAFETY: not null, and the caller's to be written.
        unsafe { *size = length as usize };
    }
    start as *mut c_void
}

/// PyTorch begins to use its devices. There is nothing to prepare.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn whyoom_torch_init(_devices: c_int) {}

/// `torch.cuda.empty_cache()`.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn whyoom_torch_reset() {
    if !fork::is_child() {
        process::devices().for_each(|pool| pool.trim(0));
    }
}
