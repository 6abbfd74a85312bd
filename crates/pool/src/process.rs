//! The pools of this process, one for each device, made when they are first needed.

use std::sync::{
    Arc, OnceLock,
    atomic::{
        AtomicBool, AtomicUsize,
        Ordering::{Acquire, Relaxed, Release},
    },
};

use whyoom_gpu::driver as gpu;

use crate::{cuda::CudaDevice, device::DevicePool, environment, error::PoolError, fork, record};

/// Devices of one process at most.
const MOST: usize = 64;

static DRIVER: OnceLock<Result<Arc<gpu::Driver>, String>> = OnceLock::new();
static DEVICES: [OnceLock<Box<DevicePool>>; MOST] = [const { OnceLock::new() }; MOST];
/// Devices from this one on were never asked for.
static BEYOND: AtomicUsize = AtomicUsize::new(0);
static SERVING: OnceLock<AtomicBool> = OnceLock::new();

/// The driver, loaded on first use.
pub(crate) fn driver() -> Result<&'static Arc<gpu::Driver>, PoolError> {
    let load = || {
        fork::watch();
        record::find();
        let driver = gpu::Driver::load().map_err(|error| error.to_string())?;
        driver.init().map_err(|code| format!("the driver cannot be started: {code}"))?;
        Ok(Arc::new(driver))
    };
    DRIVER.get_or_init(load).as_ref().map_err(|why| PoolError::NoDevice(why.clone()))
}

/// The pool of a device.
///
/// # Errors
/// There is no such device, or this is a forked child.
#[inline]
pub fn device(index: i32) -> Result<&'static DevicePool, PoolError> {
    if fork::is_child() {
        return Err(PoolError::Forked);
    }
    let slot = usize::try_from(index).ok().and_then(|index| DEVICES.get(index));
    match slot.and_then(OnceLock::get) {
        Some(pool) => Ok(pool),
        None => open(index),
    }
}

#[cold]
fn open(index: i32) -> Result<&'static DevicePool, PoolError> {
    let none = || PoolError::NoDevice(format!("there is no GPU {index}"));
    let number = u32::try_from(index).map_err(|_| none())?;
    let slot = DEVICES.get(number as usize).ok_or_else(none)?;
    let cuda = CudaDevice::new(Arc::clone(driver()?), number).map_err(|_| none())?;
    let pool = slot
        .get_or_init(|| Box::new(DevicePool::new(number, Box::new(cuda), environment::options())));
    BEYOND.fetch_max(number as usize + 1, Release);
    Ok(pool)
}

/// The pools that were made.
pub fn devices() -> impl Iterator<Item = &'static DevicePool> {
    let beyond = BEYOND.load(Acquire);
    DEVICES[..beyond].iter().filter_map(|slot| slot.get().map(|pool| &**pool))
}

/// The pool that an address belongs to.
///
/// # Errors
/// It belongs to none, or this is a forked child.
#[inline]
pub fn device_of(address: u64) -> Result<&'static DevicePool, PoolError> {
    if fork::is_child() {
        return Err(PoolError::Forked);
    }
    let mut owner = devices().filter(|pool| pool.lanes.of_address(address).is_some());
    owner.next().ok_or(PoolError::Foreign { address })
}

/// Whether allocations by the driver's own functions are served: `whyoom run --pool` wants it, until a
/// framework says that it comes by itself.
pub(crate) fn serving() -> &'static AtomicBool {
    SERVING.get_or_init(|| AtomicBool::new(environment::serves()))
}

/// Whether they are served now.
pub(crate) fn is_serving() -> bool {
    serving().load(Relaxed) && !fork::is_child()
}
