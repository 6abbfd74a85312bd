//! PyTorch's own report of its blocks.
//!
//! Its allocators tell a profiler of every block and of every failure through two functions of
//! `libc10`. They are called by name across libraries, so that ours come first. The names are those
//! of their C++ signatures, the same in PyTorch 2.6 and 2.15. Both are called under the allocator's
//! lock: the time of the call tells the order in which blocks came and went.
//!
//! Under whyoom's pool as PyTorch's allocator they are not called (nor under any other pluggable one:
//! seen on 2.15). Where PyTorch's own allocator takes its segments from a pool that serves driver
//! allocations, they are not recorded: a segment is a block of the pool's then, and what lies in it
//! would be told twice.

use std::{
    ffi::{CStr, c_void},
    mem, ptr,
    sync::atomic::{AtomicPtr, AtomicU64, Ordering::Relaxed},
};

use whyoom_recording::LiveDevice;
use whyoom_trace::{Action, Address, Bytes, Counter, DeviceId};

use crate::{
    family::captures,
    hook::{Family, Hook, Need},
    record::{self, Call, Location, NO_STACK, clock},
    resolution::real,
    serve,
};

/// `c10::Device`: two bytes, passed in one register.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct Device {
    kind: i8,
    index: i8,
}

/// `c10::DeviceType::CUDA`.
const CUDA: i8 = 1;

type Used = unsafe extern "C-unwind" fn(*mut c_void, i64, usize, usize, Device);
type Failed = unsafe extern "C-unwind" fn(i64, usize, usize, Device);

const USED_NAME: &CStr = c"_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE";
const FAILED_NAME: &CStr = c"_ZN3c1027reportOutOfMemoryToProfilerElmmNS_6DeviceE";

static USED: Hook = hook(USED_NAME, "reportMemoryUsageToProfiler");
static FAILED: Hook = hook(FAILED_NAME, "reportOutOfMemoryToProfiler");

/// The hooks, for faults on demand.
pub(crate) static HOOKS: &[&Hook] = &[&USED, &FAILED];

static REAL_USED: AtomicPtr<c_void> = AtomicPtr::new(ptr::null_mut());
static REAL_FAILED: AtomicPtr<c_void> = AtomicPtr::new(ptr::null_mut());

const fn hook(symbol: &'static CStr, name: &'static str) -> Hook {
    Hook::new(symbol, name, (0, 0), false, Need::Optional, Family::Torch, ptr::null())
}

/// PyTorch's own function, in the library that it loaded. `RTLD_NEXT` does not find it: Python opens
/// its modules apart from the rest. Nor is `dlsym` asked, which takes the loader's lock: PyTorch's
/// allocator is locked here.
fn own(place: &AtomicPtr<c_void>, name: &CStr) -> *mut c_void {
    let mut address = place.load(Relaxed);
    if address.is_null() {
        address = real::function_of("libc10.so", name);
        place.store(address, Relaxed);
    }
    address
}

/// The hook of `c10::reportMemoryUsageToProfiler`: a block came, or went where the size is negative.
///
/// # Safety
/// That of PyTorch's function.
#[unsafe(export_name = "_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE")]
pub(crate) unsafe extern "C-unwind" fn report_memory_usage(
    block: *mut c_void,
    size: i64,
    allocated: usize,
    reserved: usize,
    device: Device,
) {
    if device.kind == CUDA
        && !serve::is_on()
        && let Some(call) = record::enter(&USED)
    {
        call.after(Some(()), 0, |call, (), _| {
            let time = clock::now();
            block_changed(call, time, block as u64, size, device);
            let totals = (allocated as u64, reserved as u64);
            with_live(call, device, |live| keep_totals(live, totals, size));
        });
    }
    let real = own(&REAL_USED, USED_NAME);
    if !real.is_null() {
        // SAFETY: PyTorch's function of this name has this signature.
        let real = unsafe { mem::transmute::<*mut c_void, Used>(real) };
        // SAFETY: its own arguments, passed on as they came.
        unsafe { real(block, size, allocated, reserved, device) };
    }
}

/// The hook of `c10::reportOutOfMemoryToProfiler`.
///
/// # Safety
/// That of PyTorch's function.
#[unsafe(export_name = "_ZN3c1027reportOutOfMemoryToProfilerElmmNS_6DeviceE")]
pub(crate) unsafe extern "C-unwind" fn report_out_of_memory(
    size: i64,
    allocated: usize,
    reserved: usize,
    device: Device,
) {
    if device.kind == CUDA
        && !serve::is_on()
        && let Some(call) = record::enter(&FAILED)
    {
        call.after(Some(()), 0, |call, (), _| {
            failed(call, size, (allocated as u64, reserved as u64), device);
        });
    }
    let real = own(&REAL_FAILED, FAILED_NAME);
    if !real.is_null() {
        // SAFETY: PyTorch's function of this name has this signature.
        let real = unsafe { mem::transmute::<*mut c_void, Failed>(real) };
        // SAFETY: its own arguments, passed on as they came.
        unsafe { real(size, allocated, reserved, device) };
    }
}

fn location_of(device: Device) -> Location {
    Location::on(u16::try_from(device.index).map_or(DeviceId::UNKNOWN, DeviceId))
}

fn block_changed(call: &Call, time: u64, block: u64, size: i64, device: Device) {
    let address = Address(block);
    let size = if size >= 0 { Some(Bytes(size as u64)) } else { None };
    let (stack, action) = match size {
        Some(size) => (call.stack(), Action::BlockAlloc { address, requested: size, size }),
        None => (NO_STACK, Action::BlockFree { address }),
    };
    // A block that goes is known by its address.
    let capture = if size.is_some() { captures::under_way() } else { 0 };
    call.write(time, location_of(device).in_pool(capture), stack, 0, action);
}

fn failed(call: &Call, size: i64, (allocated, reserved): (u64, u64), device: Device) {
    let location = location_of(device);
    let stack = call.stack();
    // PyTorch may have refused without asking the driver: for a cap of its own.
    record::device_says(call, location);
    call.process.write_changed_settings();
    for (counter, bytes) in [(Counter::Allocated, allocated), (Counter::Reserved, reserved)] {
        let action = Action::Sample { counter, bytes: Bytes(bytes) };
        call.write(clock::now(), location, NO_STACK, 0, action);
    }
    let action = Action::OutOfMemory { requested: Bytes(size.unsigned_abs()) };
    call.write(clock::now(), location.in_pool(captures::under_way()), stack, 0, action);
    call.process.part.failed();
}

fn with_live(call: &Call, device: Device, keep: impl FnOnce(&LiveDevice)) {
    let devices = &call.process.part.live().devices;
    if let Some(live) = usize::try_from(device.index).ok().and_then(|index| devices.get(index)) {
        keep(live);
    }
}

fn keep_totals(live: &LiveDevice, (allocated, reserved): (u64, u64), size: i64) {
    live.allocated.store(allocated, Relaxed);
    live.reserved.store(reserved, Relaxed);
    // The allocator's lock keeps others of this device out: plain loads and stores are enough.
    let raise = |peak: &AtomicU64, to: u64| {
        if peak.load(Relaxed) < to {
            peak.store(to, Relaxed);
        }
    };
    raise(&live.peak_allocated, allocated);
    raise(&live.peak_reserved, reserved);
    let blocks = live.live.load(Relaxed);
    live.live.store(blocks.saturating_add_signed(if size >= 0 { 1 } else { -1 }), Relaxed);
}
