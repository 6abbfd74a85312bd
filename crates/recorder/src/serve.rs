//! Driver allocations that whyoom's memory pool serves.
//!
//! Where `libwhyoom_pool.so` is loaded and serves, it is asked before the driver is. What it gives is
//! told by itself (`pool_callbacks`), and the driver calls that it makes for it are recorded as anybody's
//! are. What it declines goes to the driver as if there were no pool.

use std::{
    cell::Cell,
    ffi::{c_int, c_void},
    mem,
    sync::{
        OnceLock,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
};

use whyoom_trace::pool_interface::{
    COPY, Copy as PoolCopy, FORGET, Forget, IDLE, Idle, MEM_ALLOC, MEM_ALLOC_ASYNC, MEM_FREE,
    MEM_FREE_ASYNC, MemAlloc, MemAllocAsync, MemFree, MemFreeAsync, NOT_MINE, POOL_LIBRARY,
    SERVING, STREAM_GONE, Serving, StreamGone, Symbol,
};

use crate::{hook::Hook, record, resolution::real, result_code::Code};

/// What the driver gives out at least.
const PAGE: usize = 2 << 20;

/// The functions of the pool that is loaded.
struct Pool {
    serving: Serving,
    alloc: MemAlloc,
    free: MemFree,
    alloc_async: MemAllocAsync,
    free_async: MemFreeAsync,
    stream_gone: StreamGone,
    forget: Forget,
    idle: Idle,
    /// Of a pool that knows devices which do not reach each other.
    copy: Option<PoolCopy>,
}

static POOL: OnceLock<Pool> = OnceLock::new();

/// Whether the program has a say in the driver's own pools.
static KEEPS_POOLS: AtomicBool = AtomicBool::new(false);

/// Whether the driver's pools are the program's own business: not where it was said that the pool is to
/// serve everything.
static MAY_KEEP_POOLS: AtomicBool = AtomicBool::new(true);

thread_local! {
    /// Whether this thread is in the pool, which asks the driver for itself.
    static IN_POOL: Cell<bool> = const { Cell::new(false) };
}

/// Reads what the process was started with, and looks for the pool.
pub(crate) fn prepare() {
    let everything = std::env::var_os("WHYOOM_POOL").is_some_and(|what| what == "everything");
    MAY_KEEP_POOLS.store(!everything, Relaxed);
    find();
}

/// Looks for the pool among the libraries that are loaded. Done at the start, when a preloaded pool is
/// there already, and when a pool says that it is there by asking for the callbacks.
pub(crate) fn find() {
    if POOL.get().is_none()
        && let Some(pool) = Pool::loaded()
    {
        let _ = POOL.set(pool);
    }
}

impl Pool {
    fn loaded() -> Option<Self> {
        Some(Self {
            serving: function(SERVING)?,
            alloc: function(MEM_ALLOC)?,
            free: function(MEM_FREE)?,
            alloc_async: function(MEM_ALLOC_ASYNC)?,
            free_async: function(MEM_FREE_ASYNC)?,
            stream_gone: function(STREAM_GONE)?,
            forget: function(FORGET)?,
            idle: function(IDLE)?,
            copy: function(COPY),
        })
    }

    fn is_serving(&self) -> bool {
        (self.serving)() != 0
    }
}

/// The function of the pool that is loaded.
fn function<F: Copy>(symbol: Symbol<F>) -> Option<F> {
    const { assert!(size_of::<F>() == size_of::<*mut c_void>()) };
    let address = real::function_of(POOL_LIBRARY, symbol.name);
    // SAFETY: the pool exports a function of that signature under that name; a function pointer is a pointer.
    (!address.is_null()).then(|| unsafe { mem::transmute_copy::<*mut c_void, F>(&address) })
}

/// A stream as the pool takes it.
#[inline]
fn handle(stream: u64) -> *mut c_void {
    stream as *mut c_void
}

/// Whether driver allocations are served from the pool now.
#[inline]
pub(crate) fn is_on() -> bool {
    POOL.get().is_some_and(Pool::is_serving)
}

/// The pool, where it serves a call that this thread makes now. What the driver asks of itself within
/// a call is the driver's.
#[inline]
fn pool() -> Option<&'static Pool> {
    POOL.get().filter(|pool| pool.is_serving() && !record::is_inside())
}

/// What the pool answers; nothing where it declines.
#[inline]
fn answer(ask: impl FnOnce() -> c_int) -> Option<Code> {
    let before = IN_POOL.replace(true);
    let answer = ask();
    IN_POOL.set(before);
    (answer != NOT_MINE).then_some(answer.cast_unsigned())
}

/// What the pool answers to a call of a hooked function; nothing where the driver is to answer.
#[inline]
pub(crate) fn ask(
    hook: &'static Hook,
    served: impl FnOnce(&'static Hook) -> Option<Code>,
) -> Option<Code> {
    served(hook)
}

/// No pool serves such a call.
#[inline]
pub(crate) fn never() -> Option<Code> {
    None
}

/// The pool's answer to `cuMemAlloc`; nothing where the driver is to answer.
#[inline]
pub(crate) fn alloc(address: *mut u64, bytes: usize) -> Option<Code> {
    let pool = pool()?;
    // SAFETY: the program's own arguments: it lends the place for the address.
    answer(|| unsafe { (pool.alloc)(address, bytes) })
}

/// Likewise to `cuMemFree`.
#[inline]
pub(crate) fn free(address: u64) -> Option<Code> {
    let pool = freeing()?;
    // The program gives the memory up; the pool knows its own.
    answer(|| (pool.free)(address))
}

/// Likewise to `cuMemAllocAsync`.
#[inline]
pub(crate) fn alloc_async(
    address: *mut u64,
    bytes: usize,
    stream: u64,
    hook: &Hook,
) -> Option<Code> {
    let pool = pool().filter(|_| !KEEPS_POOLS.load(Relaxed))?;
    let stream = hook.stream_meant(stream);
    // SAFETY: as for `alloc`; the stream is the program's own.
    answer(|| unsafe { (pool.alloc_async)(address, bytes, handle(stream)) })
}

/// Likewise to `cuMemFreeAsync`.
#[inline]
pub(crate) fn free_async(address: u64, stream: u64, hook: &Hook) -> Option<Code> {
    let pool = freeing()?;
    // As for `free`; the stream is the program's own.
    answer(|| (pool.free_async)(address, handle(hook.stream_meant(stream))))
}

/// The pool's answer to a copy between devices that do not reach each other; nothing where the driver is to answer.
#[inline]
pub(crate) fn copy(
    (target, source): (u64, u64),
    bytes: usize,
    stream: u64,
    hook: &Hook,
) -> Option<Code> {
    let copy = freeing()?.copy?;
    answer(|| copy(target, source, bytes, handle(hook.stream_meant(stream))))
}

/// Tells the pool that a stream is about to go.
pub(crate) fn stream_gone(stream: u64) {
    if let Some(pool) = POOL.get() {
        // The pool only forgets what it knows by that handle.
        (pool.stream_gone)(handle(stream));
    }
}

/// The program sets what a pool of the driver's does, or which one is used: what it allocates in the order
/// of streams from now on is to come from there, and to be found there when it asks. The driver answers
/// the call in any case.
#[inline]
pub(crate) fn keeps_pools() -> Option<Code> {
    KEEPS_POOLS.store(MAY_KEEP_POOLS.load(Relaxed), Relaxed);
    None
}

/// Has the pool forget what it holds on a device that is about to be reset. The driver answers the call
/// in any case.
pub(crate) fn resetting(device: c_int) -> Option<Code> {
    if let Some(pool) = freeing() {
        // The program gives up everything on the device.
        (pool.forget)(device);
    }
    None
}

/// Adds what lies idle in the pool to what the driver said is free: it is, to who is served.
pub(crate) fn add_idle(free: *mut usize, total: *const usize, result: Code) {
    if result != 0 || free.is_null() || total.is_null() || IN_POOL.get() {
        return;
    }
    let Some(pool) = pool() else { return };
    let idle = (pool.idle)() as usize;
    // The driver counts whole pages, too.
    let idle = idle / PAGE * PAGE;
    // SAFETY: the call succeeded: both were written, and are the program's to read.
    unsafe { *free = (*free).saturating_add(idle).min(*total) };
}

/// The pool, where it may own what is freed: also what it gave before it was told to serve no more.
#[inline]
fn freeing() -> Option<&'static Pool> {
    POOL.get().filter(|_| !record::is_inside())
}
