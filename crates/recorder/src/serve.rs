//! Driver allocations that whyoom's memory pool serves.
//!
//! Where `libwhyoom_pool.so` is loaded and serves, it is asked before the driver is. What it gives is
//! told by its own port (`port`), and the driver calls that it makes for it are recorded as anybody's
//! are. What it declines goes to the driver as if there were no pool.

use std::{
    cell::Cell,
    ffi::{CStr, c_int, c_void},
    mem,
    sync::{
        OnceLock,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
};

use crate::{
    hook::{Code, Hook},
    record,
    road::real,
};

/// What the pool answers where a call is not its own: a pointer that it did not give, a stream that
/// captures, a call of its own, or when it is off.
const NOT_MINE: Code = u32::MAX;

/// What the driver gives out at least.
const PAGE: usize = 2 << 20;

const LIBRARY: &str = "libwhyoom_pool.so";

type Serving = unsafe extern "C" fn() -> c_int;
type Alloc = unsafe extern "C" fn(*mut u64, usize) -> Code;
type Free = unsafe extern "C" fn(u64) -> Code;
type AllocAsync = unsafe extern "C" fn(*mut u64, usize, u64) -> Code;
type FreeAsync = unsafe extern "C" fn(u64, u64) -> Code;
type StreamGone = unsafe extern "C" fn(u64) -> Code;
type Forget = unsafe extern "C" fn(c_int) -> Code;
type Idle = unsafe extern "C" fn() -> u64;

/// The functions of the pool that is loaded.
struct Pool {
    serving: Serving,
    alloc: Alloc,
    free: Free,
    alloc_async: AllocAsync,
    free_async: FreeAsync,
    stream_gone: StreamGone,
    forget: Forget,
    idle: Idle,
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
/// there already, and when a pool says that it is there by asking for the port.
pub(crate) fn find() {
    if POOL.get().is_none()
        && let Some(pool) = Pool::loaded()
    {
        let _ = POOL.set(pool);
    }
}

impl Pool {
    fn loaded() -> Option<Self> {
        // SAFETY: these are the signatures under which the pool exports them.
        unsafe {
            Some(Self {
                serving: function(c"whyoom_pool_serving")?,
                alloc: function(c"whyoom_pool_mem_alloc")?,
                free: function(c"whyoom_pool_mem_free")?,
                alloc_async: function(c"whyoom_pool_mem_alloc_async")?,
                free_async: function(c"whyoom_pool_mem_free_async")?,
                stream_gone: function(c"whyoom_pool_stream_gone")?,
                forget: function(c"whyoom_pool_forget")?,
                idle: function(c"whyoom_pool_idle")?,
            })
        }
    }

    fn is_serving(&self) -> bool {
        // SAFETY: takes nothing, and reads a word of the pool's own.
        unsafe { (self.serving)() != 0 }
    }
}

/// # Safety
/// `F` is the signature of the pool's function of that name.
unsafe fn function<F: Copy>(name: &CStr) -> Option<F> {
    const { assert!(size_of::<F>() == size_of::<*mut c_void>()) };
    let address = real::function_of(LIBRARY, name);
    // SAFETY: the caller says what it is; a function pointer is a pointer.
    (!address.is_null()).then(|| unsafe { mem::transmute_copy::<*mut c_void, F>(&address) })
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
fn answer(ask: impl FnOnce() -> Code) -> Option<Code> {
    let before = IN_POOL.replace(true);
    let answer = ask();
    IN_POOL.set(before);
    (answer != NOT_MINE).then_some(answer)
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
    // SAFETY: the program gives the memory up; the pool knows its own.
    answer(|| unsafe { (pool.free)(address) })
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
    answer(|| unsafe { (pool.alloc_async)(address, bytes, stream) })
}

/// Likewise to `cuMemFreeAsync`.
#[inline]
pub(crate) fn free_async(address: u64, stream: u64, hook: &Hook) -> Option<Code> {
    let pool = freeing()?;
    // SAFETY: as for `free`; the stream is the program's own.
    answer(|| unsafe { (pool.free_async)(address, hook.stream_meant(stream)) })
}

/// Tells the pool that a stream is about to go.
pub(crate) fn stream_gone(stream: u64) {
    if let Some(pool) = POOL.get() {
        // SAFETY: the pool only forgets what it knows by that handle.
        unsafe { (pool.stream_gone)(stream) };
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
        // SAFETY: the program gives up everything on the device.
        unsafe { (pool.forget)(device) };
    }
    None
}

/// Adds what lies idle in the pool to what the driver said is free: it is, to who is served.
pub(crate) fn add_idle(free: *mut usize, total: *const usize, result: Code) {
    if result != 0 || free.is_null() || total.is_null() || IN_POOL.get() {
        return;
    }
    let Some(pool) = pool() else { return };
    // SAFETY: takes nothing, and reads what the pool counts.
    let idle = unsafe { (pool.idle)() } as usize;
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
