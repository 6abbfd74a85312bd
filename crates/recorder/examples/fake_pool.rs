//! A pool for tests: it serves driver allocations of at most 1 MiB, one behind the other from a range
//! of its own, refuses those of exactly 1 MiB, and tells the recorder's port of all. It is loaded
//! under the name of the real one.

#![allow(missing_docs, clippy::undocumented_unsafe_blocks, reason = "a test's library")]

use std::{
    mem::transmute,
    sync::{
        OnceLock,
        atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::Relaxed},
    },
};

/// The recorder's port, as a pool knows it.
#[repr(C)]
struct Port {
    version: u32,
    size: u32,
    block_alloc: extern "C" fn(i32, u64, u64, u64, u64, u64),
    block_free_requested: extern "C" fn(i32, u64, u64, u64),
    block_free: extern "C" fn(i32, u64, u64, u64),
    segment_map: extern "C" fn(i32, u64, u64, u64, u64, u32),
    segment_unmap: extern "C" fn(i32, u64, u64, u64, u64),
    out_of_memory: extern "C" fn(i32, u64, u64, u64, u64),
    totals: extern "C" fn(i32, u64, u64),
    cap: extern "C" fn(i32, u64),
}

const MIB: usize = 1 << 20;
const START: u64 = 1 << 44;
const NOT_MINE: u32 = u32::MAX;
const OUT_OF_MEMORY: u32 = 2;

static NEXT: AtomicU64 = AtomicU64::new(START);
static SERVING: AtomicBool = AtomicBool::new(true);
static STREAMS_GONE: AtomicU32 = AtomicU32::new(0);

fn port() -> Option<&'static Port> {
    static FOUND: OnceLock<Option<&'static Port>> = OnceLock::new();
    *FOUND.get_or_init(|| unsafe {
        let get = libc::dlsym(libc::RTLD_DEFAULT, c"whyoom_recorder_port".as_ptr());
        if get.is_null() {
            return None;
        }
        let get: unsafe extern "C" fn() -> *const Port = transmute(get);
        let port = get().as_ref()?;
        (port.version == 1 && port.size as usize >= size_of::<Port>()).then_some(port)
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
unsafe extern "C" fn whyoom_pool_mem_alloc(address: *mut u64, bytes: usize) -> u32 {
    unsafe { whyoom_pool_mem_alloc_async(address, bytes, 0) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn whyoom_pool_mem_alloc_async(
    address: *mut u64,
    bytes: usize,
    stream: u64,
) -> u32 {
    if bytes > MIB {
        return NOT_MINE;
    }
    let at = NEXT.fetch_add(MIB as u64, Relaxed);
    if bytes == MIB {
        if let Some(port) = port() {
            (port.cap)(3, 7 << 20);
            (port.out_of_memory)(3, stream, bytes as u64, 0, at - START);
        }
        return OUT_OF_MEMORY;
    }
    if let Some(port) = port() {
        (port.segment_map)(3, stream, 0, at, MIB as u64, 1);
        (port.block_alloc)(3, stream, 9, at, bytes as u64, bytes.next_multiple_of(512) as u64);
        (port.totals)(3, bytes as u64, at - START + MIB as u64);
    }
    unsafe { *address = at };
    0
}

#[unsafe(no_mangle)]
extern "C" fn whyoom_pool_mem_free(address: u64) -> u32 {
    whyoom_pool_mem_free_async(address, 0)
}

#[unsafe(no_mangle)]
extern "C" fn whyoom_pool_mem_free_async(address: u64, stream: u64) -> u32 {
    if !(START..NEXT.load(Relaxed)).contains(&address) {
        return NOT_MINE;
    }
    if let Some(port) = port() {
        (port.block_free_requested)(3, stream, 9, address);
        (port.block_free)(3, stream, 9, address);
        (port.segment_unmap)(3, stream, 0, address, MIB as u64);
    }
    0
}

#[unsafe(no_mangle)]
extern "C" fn whyoom_pool_stream_gone(stream: u64) -> u32 {
    STREAMS_GONE.fetch_add(stream as u32, Relaxed);
    0
}

#[unsafe(no_mangle)]
extern "C" fn whyoom_pool_forget(device: i32) -> u32 {
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
