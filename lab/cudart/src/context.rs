//! Which device and context a thread works on.
//!
//! A thread works on the context that is current in the driver. Where none is, the runtime makes the
//! primary context of the thread's device current, at the first call that needs one.

use std::{
    cell::Cell,
    ops::Deref,
    ptr,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicPtr, Ordering},
    },
};

use cudarc::driver::sys::{CUcontext, CUctx_st, CUdevice};

use crate::{
    driver::{self, Driver},
    error::Failure,
};

const MAXIMUM_DEVICES: usize = 64;

/// The primary contexts that the runtime holds, by device ordinal. Each is retained once for the
/// whole process, however many threads use it.
static PRIMARY: [AtomicPtr<CUctx_st>; MAXIMUM_DEVICES] =
    [const { AtomicPtr::new(ptr::null_mut()) }; MAXIMUM_DEVICES];

thread_local! {
    /// The device that the thread asked for last.
    static DEVICE: Cell<i32> = const { Cell::new(0) };
    /// The context that the runtime made current on the thread last.
    static BOUND: Cell<CUcontext> = const { Cell::new(ptr::null_mut()) };
}

/// The driver with a context current on this thread.
pub struct Current {
    driver: &'static Driver,
    /// The context.
    pub context: CUcontext,
}

impl Deref for Current {
    type Target = Driver;

    fn deref(&self) -> &Driver {
        self.driver
    }
}

/// The driver, with a context current on this thread: the program's own, or the primary one of the
/// thread's device.
pub fn current() -> Result<Current, Failure> {
    let driver = driver::initialized()?;
    let context = in_driver(driver)?;
    let ours_was_reset = context == BOUND.get() && primary_if_held(DEVICE.get()) != context;
    if context.is_null() || ours_was_reset {
        return bind(driver, DEVICE.get());
    }
    Ok(Current { driver, context })
}

/// The ordinal of the device that this thread works on; makes no context.
pub fn device() -> Result<i32, Failure> {
    let driver = driver::initialized()?;
    let context = in_driver(driver)?;
    if context.is_null() || context == BOUND.get() {
        return Ok(DEVICE.get());
    }
    let mut device = 0;
    driver.cuCtxGetDevice(&mut device)?;
    // A device handle is the ordinal itself: `cuDeviceGet` gives back the number it is asked for.
    Ok(device)
}

/// Makes this thread work on a device, through its primary context.
pub fn set_device(ordinal: i32) -> Result<(), Failure> {
    bind(driver::initialized()?, ordinal).map(|_| ())
}

/// The handle of the device of an ordinal.
pub fn handle(driver: &Driver, ordinal: i32) -> Result<CUdevice, Failure> {
    let mut device = 0;
    driver.cuDeviceGet(&mut device, ordinal)?;
    Ok(device)
}

/// The primary context of a device, which the runtime holds from now on.
pub fn primary(driver: &Driver, ordinal: i32) -> Result<CUcontext, Failure> {
    static RETAINING: Mutex<()> = Mutex::new(());
    let held = primary_if_held(ordinal);
    if !held.is_null() {
        return Ok(held);
    }
    let _one_at_a_time = RETAINING.lock().unwrap_or_else(PoisonError::into_inner);
    let held = primary_if_held(ordinal);
    if !held.is_null() {
        return Ok(held);
    }
    let device = handle(driver, ordinal)?;
    let mut context = ptr::null_mut();
    driver.cuDevicePrimaryCtxRetain(&mut context, device)?;
    slot(ordinal).ok_or(Failure::INVALID_DEVICE)?.store(context, Ordering::Release);
    Ok(context)
}

/// Destroys the primary context of this thread's device and gives back what it was, null if it was
/// not held. The next call that needs one makes a new one.
pub fn reset() -> Result<CUcontext, Failure> {
    let driver = driver::initialized()?;
    let ordinal = device()?;
    let held = primary_if_held(ordinal);
    driver.cuDevicePrimaryCtxReset(handle(driver, ordinal)?)?;
    if let Some(slot) = slot(ordinal) {
        slot.store(ptr::null_mut(), Ordering::Release);
    }
    driver.cuCtxSetCurrent(ptr::null_mut())?;
    Ok(held)
}

fn bind(driver: &'static Driver, ordinal: i32) -> Result<Current, Failure> {
    let context = primary(driver, ordinal)?;
    driver.cuCtxSetCurrent(context)?;
    DEVICE.set(ordinal);
    BOUND.set(context);
    Ok(Current { driver, context })
}

fn in_driver(driver: &Driver) -> Result<CUcontext, Failure> {
    let mut context = ptr::null_mut();
    driver.cuCtxGetCurrent(&mut context)?;
    Ok(context)
}

fn primary_if_held(ordinal: i32) -> CUcontext {
    slot(ordinal).map_or(ptr::null_mut(), |slot| slot.load(Ordering::Acquire))
}

fn slot(ordinal: i32) -> Option<&'static AtomicPtr<CUctx_st>> {
    PRIMARY.get(usize::try_from(ordinal).ok()?)
}
