//! Stream-ordered memory and its pools.

use std::{
    ffi::c_void,
    sync::{Mutex, MutexGuard, PoisonError},
};

use whyoom_trace::{Action, Bytes, Counter, DeviceId, Limit, MemoryKind::StreamOrdered};

use super::{captures, out_parameter::written, refusals::refused, virtual_memory::MemLocation};
use crate::{
    declare::hooks,
    record::{
        Call, Held, Location, MOST_DEVICES, PerProcess, PoolFacts, Process, clock, device_of,
    },
    resolution::real::Function,
    result_code::{Code, OUT_OF_MEMORY},
    serve,
};

/// The beginning of `CUmemPoolProps`, with its enumerations as numbers.
#[derive(Clone, Copy, Default)]
#[repr(C)]
pub(crate) struct Properties {
    kind: u32,
    handle_types: u32,
    location: MemLocation,
}

impl Properties {
    /// The device of the pool.
    pub(super) fn device(self) -> DeviceId {
        self.location.device()
    }
}

/// A pool that the process has used.
#[derive(Clone, Copy)]
struct Pool {
    handle: u64,
    device: DeviceId,
}

/// The pools that the process has used.
#[derive(Default)]
struct Pools {
    known: Mutex<Vec<Pool>>,
    /// The pool that a device allocates from, where it is not the device's own.
    current: Mutex<Vec<Pool>>,
}

static POOLS: PerProcess<Pools> = PerProcess::new();

/// `CU_MEMPOOL_ATTR_RELEASE_THRESHOLD`, `_RESERVED_MEM_CURRENT` and `_USED_MEM_CURRENT`.
const THRESHOLD: u32 = 4;
const RESERVED: u32 = 5;
const USED: u32 = 7;

static ATTRIBUTE: Function<unsafe extern "C" fn(u64, u32, *mut u64) -> Code> =
    Function::named(c"cuMemPoolGetAttribute");
static DEFAULT: Function<unsafe extern "C" fn(*mut u64, i32) -> Code> =
    Function::named(c"cuDeviceGetDefaultMemPool");

hooks! { Pools;
    Required (address: *mut u64, bytes: usize, stream: u64)
    [cuMemAllocAsync = "cuMemAllocAsync" since 11020,
     cuMemAllocAsync_ptsz = "cuMemAllocAsync" since 11020 (per_thread)]
    served {
        |hook| serve::alloc_async(address, bytes, stream, hook);
        |_| ();
        |call, (), result| allocated(call, address, bytes, None, stream, result)
    }

    Required (address: *mut u64, bytes: usize, pool: u64, stream: u64)
    [cuMemAllocFromPoolAsync = "cuMemAllocFromPoolAsync" since 11020,
     cuMemAllocFromPoolAsync_ptsz = "cuMemAllocFromPoolAsync" since 11020 (per_thread)]
    after { |call, (), result| allocated(call, address, bytes, Some(pool), stream, result) }

    Required (address: u64, stream: u64)
    [cuMemFreeAsync = "cuMemFreeAsync" since 11020,
     cuMemFreeAsync_ptsz = "cuMemFreeAsync" since 11020 (per_thread)]
    served {
        |hook| serve::free_async(address, stream, hook);
        |call| freeing(call, address, stream);
        |call, begun, result| if let Some(begun) = begun {
            let location = call.location_of(begun.1).in_stream(stream);
            call.freed(begun, location, (StreamOrdered, address), result);
        }
    }

    Required (pool: *mut u64, properties: *const Properties)
    [cuMemPoolCreate = "cuMemPoolCreate" since 11020]
    after { |call, (), result| if result == 0 {
        // SAFETY: the call succeeded: it has read the one and written the other.
        let (handle, wanted) = unsafe { (written(pool), written(properties)) };
        POOLS.of(call.process).know(handle, wanted.device());
    } else if result == OUT_OF_MEMORY && !properties.is_null() {
        // SAFETY: the driver looked for memory of these properties, so it has read them.
        let device = unsafe { written(properties) }.device();
        refused(call, Location::on(device), 0, result);
    } }

    Required (pool: u64)
    [cuMemPoolDestroy = "cuMemPoolDestroy" since 11020]
    after { |call, (), result| if result == 0 { POOLS.of(call.process).forget(pool) } }

    Required (pool: u64, keep: usize)
    [cuMemPoolTrimTo = "cuMemPoolTrimTo" since 11020]
    after { |call, (), result| if result == 0 {
        let location = POOLS.of(call.process).location(pool);
        call.note(location, result, Action::PoolTrim { keep: Bytes(keep as u64) });
    } }

    Required (pool: u64, attribute: u32, value: *mut c_void)
    [cuMemPoolSetAttribute = "cuMemPoolSetAttribute" since 11020]
    served { |_| serve::keeps_pools(); |_| (); |call, (), result| if result == 0 && attribute == THRESHOLD {
        // SAFETY: documented: the value of this attribute is a `cuuint64_t`.
        let value = unsafe { written(value.cast::<u64>()) };
        let action = Action::LimitSet { limit: Limit::ReleaseThreshold, value };
        call.note(POOLS.of(call.process).location(pool), result, action);
    } }

    Required (device: i32, pool: u64)
    [cuDeviceSetMemPool = "cuDeviceSetMemPool" since 11020]
    served { |_| serve::keeps_pools(); |_| (); |call, (), result| if result == 0 {
        POOLS.of(call.process).make_current(device_of(device), pool);
    } }

    Optional (location: *const MemLocation, kind: u32, pool: u64)
    [cuMemSetMemPool = "cuMemSetMemPool" since 13000]
    served { |_| serve::keeps_pools(); |_| (); |call, (), result| if result == 0 {
        // SAFETY: the program's own location, which it lends for the call.
        let device = unsafe { written(location) }.device();
        POOLS.of(call.process).make_current(device, pool);
    } }
}

fn allocated(
    call: &Call,
    address: *const u64,
    bytes: usize,
    pool: Option<u64>,
    stream: u64,
    result: Code,
) {
    let time = clock::now();
    // In a capture it becomes a node; the memory comes with a launch.
    if address.is_null() || captures::captures(call, stream) {
        return;
    }
    // SAFETY: a call that succeeded has written the address.
    let address = if result == 0 { unsafe { written(address) } } else { 0 };
    let here = call.here().in_stream(stream);
    let location = POOLS.of(call.process).location_of_allocation(here, pool);
    call.allocated(time, location, (StreamOrdered, address, bytes as u64), result);
}

/// What is freed in a capture is freed by a launch.
fn freeing(call: &Call, address: u64, stream: u64) -> Option<(u64, Option<Held>)> {
    (!captures::captures(call, stream)).then(|| call.freeing(address))
}

impl Pools {
    fn known(&self) -> MutexGuard<'_, Vec<Pool>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn know(&self, handle: u64, device: DeviceId) {
        let mut known = self.known();
        if !known.iter().any(|pool| pool.handle == handle) {
            known.push(Pool { handle, device });
        }
    }

    fn forget(&self, handle: u64) {
        self.known().retain(|pool| pool.handle != handle);
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        // Documented: a device whose pool is destroyed uses its own again.
        current.retain(|pool| pool.handle != handle);
    }

    fn make_current(&self, device: DeviceId, handle: u64) {
        let own = default_pool(device) == handle;
        self.know(handle, device);
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        current.retain(|pool| pool.device != device);
        if !own {
            current.push(Pool { handle, device });
        }
    }

    /// Where an allocation is. The device's own pool has no number of its own there.
    fn location_of_allocation(&self, here: Location, pool: Option<u64>) -> Location {
        let pool = pool.or_else(|| {
            let current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
            current.iter().find(|pool| pool.device == here.device).map(|pool| pool.handle)
        });
        let Some(handle) = pool else { return here };
        let of_handle = |pool: &&Pool| pool.handle == handle;
        match self.known().iter().find(of_handle) {
            Some(Pool { device, .. }) => here.in_pool(handle).on_device(*device),
            None => here,
        }
    }

    /// Where a call about a pool acts.
    fn location(&self, handle: u64) -> Location {
        let known = self.known().iter().find(|pool| pool.handle == handle).copied();
        let device = known.map(|pool| pool.device).unwrap_or_else(|| {
            // One that nobody made is some device's own.
            let own = (0..MOST_DEVICES).map(DeviceId);
            let owner = own.into_iter().find(|device| default_pool(*device) == handle);
            owner.unwrap_or(DeviceId::UNKNOWN)
        });
        self.know(handle, device);
        Location::on(device).in_pool(handle)
    }
}

fn default_pool(device: DeviceId) -> u64 {
    let mut pool = 0;
    // SAFETY: the driver writes the handle where it is told to.
    let found = DEFAULT.get().is_some_and(|get| unsafe { get(&mut pool, device.0.into()) } == 0);
    if found { pool } else { 0 }
}

/// What the pools of a device say of themselves.
pub(crate) fn facts(process: &'static Process, device: DeviceId) -> Vec<PoolFacts> {
    let pools = POOLS.of(process);
    let own = default_pool(device);
    if own != 0 {
        pools.know(own, device);
    }
    let known: Vec<u64> = {
        let known = pools.known();
        known.iter().filter(|pool| pool.device == device).map(|pool| pool.handle).collect()
    };
    let wanted = [
        (Counter::PoolUsed, USED),
        (Counter::PoolReserved, RESERVED),
        (Counter::PoolThreshold, THRESHOLD),
    ];
    let of_pool = |pool: u64| {
        let facts = wanted.iter().filter_map(|(counter, attribute)| {
            let (get, mut value) = (ATTRIBUTE.get()?, 0);
            // SAFETY: documented: the values of these attributes are of 64 bits.
            let result = unsafe { get(pool, *attribute, &mut value) };
            (result == 0).then_some((*counter, value))
        });
        (pool, facts.collect())
    };
    known.into_iter().map(of_pool).collect()
}
