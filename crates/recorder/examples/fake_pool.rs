//! A pool for tests: it serves driver allocations of at most 1 MiB, one behind the other from a range
//! of its own, refuses those of exactly 1 MiB, and tells the recorder of all. It is loaded
//! under the name of the real one.

#![allow(missing_docs, clippy::undocumented_unsafe_blocks, reason = "a test's library")]

use std::{
    ffi::{c_int, c_void},
    mem::transmute,
    ptr::null_mut,
    sync::{
        OnceLock,
        atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::Relaxed},
    },
};

use whyoom_trace::pool_interface::{FIND_CALLBACKS, FindCallbacks, NOT_MINE, PoolCallbacks};

const MIB: usize = 1 << 20;
const START: u64 = 1 << 44;
const OUT_OF_MEMORY: c_int = 2;

static NEXT: AtomicU64 = AtomicU64::new(START);
static SERVING: AtomicBool = AtomicBool::new(true);
static STREAMS_GONE: AtomicU32 = AtomicU32::new(0);

fn callbacks() -> Option<&'static PoolCallbacks> {
    static FOUND: OnceLock<Option<&'static PoolCallbacks>> = OnceLock::new();
    *FOUND.get_or_init(|| unsafe {
        let get = libc::dlsym(libc::RTLD_DEFAULT, FIND_CALLBACKS.name.as_ptr());
        if get.is_null() {
            return None;
        }
        let get: FindCallbacks = transmute(get);
        let callbacks = get().as_ref()?;
        PoolCallbacks::fits(callbacks.version, callbacks.size).then_some(callbacks)
    })
}

#[unsafe(no_mangle)]
extern "C" fn whyoom_pool_serving() -> i32 {
    SERVING.load(Relaxed).into()
}

#[unsafe(no_mangle)]
extern "C" fn whyoom_pool_serve(on: i32) {
    SERVING.store(on != 0, Relaxed);
}

#[unsafe(no_mangle)]
unsafe extern "C" fn whyoom_pool_mem_alloc(address: *mut u64, bytes: usize) -> c_int {
    unsafe { whyoom_pool_mem_alloc_async(address, bytes, null_mut()) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn whyoom_pool_mem_alloc_async(
    address: *mut u64,
    bytes: usize,
    stream: *mut c_void,
) -> c_int {
    let stream = stream as u64;
    if bytes > MIB {
        return NOT_MINE;
    }
    let at = NEXT.fetch_add(MIB as u64, Relaxed);
    if bytes == MIB {
        if let Some(callbacks) = callbacks() {
            (callbacks.cap)(3, 7 << 20);
            (callbacks.out_of_memory)(3, stream, bytes as u64, 0, at - START);
        }
        return OUT_OF_MEMORY;
    }
    if let Some(callbacks) = callbacks() {
        (callbacks.segment_map)(3, stream, 0, at, MIB as u64, 1);
        (callbacks.block_alloc)(3, stream, 9, at, bytes as u64, bytes.next_multiple_of(512) as u64);
        (callbacks.totals)(3, bytes as u64, at - START + MIB as u64);
    }
    unsafe { *address = at };
    0
}

#[unsafe(no_mangle)]
extern "C" fn whyoom_pool_mem_free(address: u64) -> c_int {
    whyoom_pool_mem_free_async(address, null_mut())
}

#[unsafe(no_mangle)]
extern "C" fn whyoom_pool_mem_free_async(address: u64, stream: *mut c_void) -> c_int {
    let stream = stream as u64;
    if !(START..NEXT.load(Relaxed)).contains(&address) {
        return NOT_MINE;
    }
    if let Some(callbacks) = callbacks() {
        (callbacks.block_free_requested)(3, stream, 9, address);
        (callbacks.block_free)(3, stream, 9, address);
        (callbacks.segment_unmap)(3, stream, 0, address, MIB as u64);
    }
    0
}

#[unsafe(no_mangle)]
extern "C" fn whyoom_pool_stream_gone(stream: *mut c_void) -> c_int {
    STREAMS_GONE.fetch_add(stream as u32, Relaxed);
    0
}

#[unsafe(no_mangle)]
extern "C" fn whyoom_pool_forget(device: i32) -> c_int {
    STREAMS_GONE.fetch_add(1000 * device as u32, Relaxed);
    0
}

#[unsafe(no_mangle)]
extern "C" fn whyoom_pool_idle() -> u64 {
    (3 << 20) + 512
}

/// The sum of the streams that went, and of a thousand times the devices that were forgotten.
#[unsafe(no_mangle)]
extern "C" fn fake_pool_streams_gone() -> u32 {
    STREAMS_GONE.load(Relaxed)
}
