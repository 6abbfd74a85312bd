//! What whyoom's memory pool tells of its blocks, its segments and its failures.
//!
//! The pool finds `whyoom_recorder_port` among the libraries of the process and calls what it
//! answers: with a lock of its own held, from any thread. Nothing here calls the pool, or what of the
//! driver may lead there.

use std::{
    array, ptr,
    sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
};

use whyoom_recording::{LIVE_DEVICES, LiveDevice};
use whyoom_trace::{
    Action, Address, Bytes, Counter, SizeClass, StackId,
    pool_interface::{CALLBACKS_VERSION, FIND_CALLBACKS, FindCallbacks, PoolCallbacks},
};

use crate::{
    hook::{Family, Hook, Need},
    record::{self, Call, Location, NO_STACK, PerProcess, clock, device_of},
    serve,
};

static CALLBACKS: PoolCallbacks = PoolCallbacks {
    version: CALLBACKS_VERSION,
    size: PoolCallbacks::SIZE,
    block_alloc,
    block_free_requested,
    block_free,
    segment_map,
    segment_unmap,
    out_of_memory,
    totals,
    cap,
};

static TOLD: Hook = Hook::new(
    FIND_CALLBACKS.name,
    "whyoom_recorder_port",
    (0, 0),
    false,
    Need::Optional,
    Family::PoolCallbacks,
    ptr::null(),
);

/// The hook that stands for all of the callbacks, for faults on demand.
pub(crate) static HOOKS: &[&Hook] = &[&TOLD];

const _: FindCallbacks = whyoom_recorder_port;

/// What is remembered of the pool, beside what the recording holds.
#[derive(Debug)]
struct PoolState {
    /// Whether the recording says that there is a pool.
    said: AtomicBool,
    /// The most that it may hold, by device; 0 for no cap.
    caps: [AtomicU64; LIVE_DEVICES],
}

static STATE: PerProcess<PoolState> = PerProcess::new();

impl Default for PoolState {
    fn default() -> Self {
        Self { said: AtomicBool::new(false), caps: array::from_fn(|_| AtomicU64::new(0)) }
    }
}

/// The callbacks, for a pool in this process; null where nothing is recorded.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn whyoom_recorder_port() -> *const PoolCallbacks {
    serve::find();
    if record::is_on() { &raw const CALLBACKS } else { ptr::null() }
}

extern "C" fn block_alloc(
    device: i32,
    stream: u64,
    pool: u64,
    address: u64,
    requested: u64,
    size: u64,
) {
    recorded(|call| {
        let (address, requested, size) = (Address(address), Bytes(requested), Bytes(size));
        let action = Action::BlockAlloc { address, requested, size };
        write(call, location(device, stream, pool), call.stack(), action);
        with_live(call, device, |live| {
            live.live.fetch_add(1, Relaxed);
        });
    });
}

extern "C" fn block_free_requested(device: i32, stream: u64, pool: u64, address: u64) {
    recorded(|call| {
        let action = Action::BlockFreeRequested { address: Address(address) };
        write(call, location(device, stream, pool), NO_STACK, action);
    });
}

extern "C" fn block_free(device: i32, stream: u64, pool: u64, address: u64) {
    recorded(|call| {
        let action = Action::BlockFree { address: Address(address) };
        write(call, location(device, stream, pool), NO_STACK, action);
        with_live(call, device, |live| {
            // A block that came before the recording did was not counted.
            let _ = live.live.fetch_update(Relaxed, Relaxed, |count| count.checked_sub(1));
        });
    });
}

extern "C" fn segment_map(
    device: i32,
    stream: u64,
    pool: u64,
    address: u64,
    size: u64,
    small: u32,
) {
    recorded(|call| {
        let class = if small != 0 { SizeClass::Small } else { SizeClass::Large };
        let action = Action::SegmentMap { address: Address(address), size: Bytes(size), class };
        write(call, location(device, stream, pool), call.stack(), action);
    });
}

extern "C" fn segment_unmap(device: i32, stream: u64, pool: u64, address: u64, size: u64) {
    recorded(|call| {
        let action = Action::SegmentUnmap { address: Address(address), size: Bytes(size) };
        write(call, location(device, stream, pool), NO_STACK, action);
    });
}

extern "C" fn out_of_memory(
    device: i32,
    stream: u64,
    requested: u64,
    allocated: u64,
    reserved: u64,
) {
    recorded(|call| {
        let (location, stack) = (location(device, stream, 0), call.stack());
        // The pool may have refused without asking the driver: a cap, or more than there is at all.
        record::device_says(call, location);
        let cap = cap_of(call, device).map(|cap| (Counter::Allowed, cap));
        let figures = [(Counter::Allocated, allocated), (Counter::Reserved, reserved)];
        for (counter, bytes) in figures.into_iter().chain(cap) {
            write(call, location, NO_STACK, Action::Sample { counter, bytes: Bytes(bytes) });
        }
        write(call, location, stack, Action::OutOfMemory { requested: Bytes(requested) });
        keep_totals(call, device, (allocated, reserved));
        call.process.part.failed();
    });
}

extern "C" fn totals(device: i32, allocated: u64, reserved: u64) {
    recorded(|call| keep_totals(call, device, (allocated, reserved)));
}

extern "C" fn cap(device: i32, bytes: u64) {
    recorded(|call| {
        let caps = &STATE.of(call.process).caps;
        if let Some(cap) = usize::try_from(device).ok().and_then(|device| caps.get(device)) {
            cap.store(bytes, Relaxed);
        }
    });
}

/// Records what the pool tells. It fails open, as every hook does.
#[inline]
fn recorded(part: impl FnOnce(&Call)) {
    let Some(call) = record::enter(&TOLD) else { return };
    call.after(Some(()), 0, |call, (), _| {
        if !STATE.of(call.process).said.load(Relaxed) {
            say(call);
        }
        part(call);
    });
}

/// Has the recording say, once, that a pool serves the process: PyTorch's settings have no effect then.
#[cold]
fn say(call: &Call) {
    if !STATE.of(call.process).said.swap(true, Relaxed) {
        let (name, value) = (call.process.text(c"whyoom_pool"), call.process.text(c"on"));
        write(call, Location::NOWHERE, NO_STACK, Action::Setting { name, value });
    }
}

#[inline]
fn location(device: i32, stream: u64, pool: u64) -> Location {
    Location::on(device_of(device)).in_stream(stream).in_pool(pool)
}

#[inline]
fn write(call: &Call, location: Location, stack: StackId, action: Action) {
    call.write(clock::now(), location, stack, 0, action);
}

fn cap_of(call: &Call, device: i32) -> Option<u64> {
    let cap = STATE.of(call.process).caps.get(usize::try_from(device).ok()?)?;
    Some(cap.load(Relaxed)).filter(|bytes| *bytes > 0)
}

fn with_live(call: &Call, device: i32, keep: impl FnOnce(&LiveDevice)) {
    let devices = &call.process.part.live().devices;
    if let Some(live) = usize::try_from(device).ok().and_then(|device| devices.get(device)) {
        keep(live);
    }
}

fn keep_totals(call: &Call, device: i32, (allocated, reserved): (u64, u64)) {
    with_live(call, device, |live| {
        live.allocated.store(allocated, Relaxed);
        live.reserved.store(reserved, Relaxed);
        live.peak_allocated.fetch_max(allocated, Relaxed);
        live.peak_reserved.fetch_max(reserved, Relaxed);
    });
}
