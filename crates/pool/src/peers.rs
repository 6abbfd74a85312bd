//! Copies between devices that do not reach each other's memory.
//!
//! The driver's plain copies need a device that reaches both ends where memory was mapped (PyTorch's allocator says so of
//! its own expandable segments). PyTorch uses no others for an allocator that is plugged in, so that the recorder, which
//! stands before the driver's functions, hands them over.

use std::ffi::c_int;

use whyoom_gpu::driver::Stream;

use crate::process;

/// Makes a copy between the pool's memory on two devices, where the current device does not reach both; nothing where
/// any copy does.
pub(crate) fn copy(target: u64, source: u64, bytes: u64, stream: Stream) -> Option<c_int> {
    // Most programs use one device.
    process::devices().nth(1)?;
    let driver = process::loaded_driver()?;
    let own = |address| process::device_of(address).ok().map(|pool| pool.index);
    let (to, from) = (own(target)?, own(source)?);
    let current = driver.current_device().ok()?;
    let reaches =
        |device| device == current || driver.can_access_peer(current, device).unwrap_or(false);
    if to == from || reaches(to) && reaches(from) {
        return None;
    }
    let there = (target, driver.retain_primary(to).ok()?);
    let here = (source, driver.retain_primary(from).ok()?);
    // SAFETY: the program's own copy: it says that both ranges are there until it is done.
    let copied = unsafe { driver.copy_between(there, here, bytes, stream) };
    Some(copied.map_or_else(|code| code.0 as c_int, |()| 0))
}
