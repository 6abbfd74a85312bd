//! The pools of this process, one for each device, made when they are first needed.

use std::sync::{
    Arc, OnceLock,
    atomic::{
        AtomicBool, AtomicUsize,
        Ordering::{Acquire, Relaxed, Release},
    },
};

use whyoom_allocators::PAGE;
use whyoom_gpu::driver as gpu;

use crate::{cuda::CudaDevice, device::DevicePool, environment, error::PoolError, fork, record};

/// Devices of one process at most.
const MOST: usize = 64;

static DRIVER: OnceLock<Result<Arc<gpu::Driver>, String>> = OnceLock::new();
static DEVICES: [OnceLock<Box<DevicePool>>; MOST] = [const { OnceLock::new() }; MOST];
/// Why the pool cannot serve devices, which was said.
static DECLINED: [OnceLock<PoolError>; MOST] = [const { OnceLock::new() }; MOST];
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

/// The driver, where it was used already and this is no forked child.
pub(crate) fn loaded_driver() -> Option<&'static Arc<gpu::Driver>> {
    DRIVER.get().filter(|_| !fork::is_child())?.as_ref().ok()
}

/// Why the pool cannot serve the devices that this process sees; nothing where it can, or where there is none. Where
/// nobody hands copies between devices over, all of them must reach each other's memory.
pub(crate) fn obstacle(hooked: bool) -> Option<String> {
    let driver = driver().ok()?;
    let mut devices = 0..driver.device_count().ok()?;
    let no_pages = |device| driver.why_no_pages(device, PAGE).ok().flatten();
    devices.find_map(no_pages).or_else(|| {
        let apart = if hooked { Vec::new() } else { driver.pairs_apart().ok()? };
        let (one, other) = apart.first()?;
        Some(format!(
            "GPU {one} and GPU {other} do not reach each other's memory: start the program with \
             whyoom run --pool, or give each process one GPU (CUDA_VISIBLE_DEVICES)"
        ))
    })
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
    let declined = &DECLINED[number as usize];
    if let Some(error) = declined.get() {
        return Err(error.clone());
    }
    let cuda = CudaDevice::new(Arc::clone(driver()?), number).inspect_err(|error| {
        if matches!(error, PoolError::CannotServe(_)) && declined.set(error.clone()).is_ok() {
            environment::say(&error.to_string());
        }
    })?;
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
