//! A driver for tests: a few functions, no device. `cuGetProcAddress` hands out functions that are
//! exported under no name, as a driver may that is linked to itself.

#![allow(non_snake_case, missing_docs)]

use std::{
    ffi::{CStr, c_char, c_void},
    sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
};

static NEXT: AtomicU64 = AtomicU64::new(1 << 40);
const OUT_OF_MEMORY: u32 = 2;
const NOT_FOUND: u32 = 500;
const CONTEXT_IS_DESTROYED: u32 = 709;
/// Whether the primary context is active.
static ACTIVE: AtomicBool = AtomicBool::new(true);
/// Whether a stream captures.
static CAPTURING: AtomicBool = AtomicBool::new(false);
const MOST: usize = 1 << 40;
/// Who asks for so many bytes ends his thread, as a callback of the driver's may.
const END: usize = 77;

unsafe extern "C-unwind" {
    fn pthread_exit(value: *mut c_void) -> !;
}

unsafe fn alloc(address: *mut u64, bytes: usize) -> u32 {
    // SAFETY: the C library has one for each thread.
    unsafe { *libc::__errno_location() = 42 };
    if bytes == END {
        // SAFETY: all frames up to the thread's first may be unwound and have nothing to drop.
        unsafe { pthread_exit(std::ptr::null_mut()) };
    }
    if bytes > MOST {
        return OUT_OF_MEMORY;
    }
    // SAFETY: tests pass a place for the address.
    unsafe { *address = NEXT.fetch_add((bytes as u64).next_multiple_of(512), Relaxed) };
    0
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn cuMemAlloc_v2(address: *mut u64, bytes: usize) -> u32 {
    // SAFETY: as documented.
    unsafe { alloc(address, bytes) }
}

unsafe extern "C-unwind" fn hidden_alloc(address: *mut u64, bytes: usize) -> u32 {
    // SAFETY: as documented.
    unsafe { alloc(address, bytes) }
}

/// Calls another exported function of its own, through whatever stands under that name.
#[unsafe(no_mangle)]
unsafe extern "C" fn cuMemAllocPitch_v2(
    address: *mut u64,
    pitch: *mut usize,
    width: usize,
    height: usize,
    _element: u32,
) -> u32 {
    // SAFETY: tests pass places for both.
    unsafe {
        *pitch = width.next_multiple_of(512);
        let own = libc::dlsym(libc::RTLD_DEFAULT, c"cuMemAlloc_v2".as_ptr());
        let own: unsafe extern "C" fn(*mut u64, usize) -> u32 = std::mem::transmute(own);
        own(address, *pitch * height)
    }
}

#[unsafe(no_mangle)]
extern "C" fn cuMemFree_v2(_address: u64) -> u32 {
    0
}

extern "C" fn hidden_free(_address: u64) -> u32 {
    0
}

/// Flags, a graph or a handle of this number finds no memory.
const REFUSED: u64 = 7;

fn refuse(number: u64) -> u32 {
    if number == REFUSED { OUT_OF_MEMORY } else { 0 }
}

#[unsafe(no_mangle)]
extern "C" fn cuStreamCreate(_stream: *mut u64, flags: u32) -> u32 {
    refuse(flags.into())
}

#[unsafe(no_mangle)]
extern "C" fn cuGraphInstantiateWithFlags(_made: *mut u64, graph: u64, _flags: u64) -> u32 {
    refuse(graph)
}

#[unsafe(no_mangle)]
extern "C" fn cuMemMap(_address: u64, _bytes: usize, _offset: usize, handle: u64, _f: u64) -> u32 {
    refuse(handle)
}

#[unsafe(no_mangle)]
extern "C" fn cuMemSetAccess(_to: u64, _bytes: usize, _access: *const c_void, count: usize) -> u32 {
    refuse(count as u64)
}

#[unsafe(no_mangle)]
extern "C" fn cuMulticastBindMem_v2(
    object: u64,
    device: i32,
    object_offset: usize,
    handle: u64,
    offset: usize,
    bytes: usize,
    flags: u64,
) -> u32 {
    let given = (object, device, object_offset, handle, offset, bytes);
    if given == (1, 2, 3, 4, 5, 6) { refuse(flags) } else { 1 }
}

#[unsafe(no_mangle)]
extern "C" fn cuStreamDestroy_v2(stream: u64) -> u32 {
    if stream == 0 { 400 } else { 0 }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuMemAllocAsync_ptsz(address: *mut u64, bytes: usize, _stream: u64) -> u32 {
    // SAFETY: as documented.
    unsafe { alloc(address, bytes) }
}

#[unsafe(no_mangle)]
extern "C" fn cuMemFreeAsync_ptsz(_address: u64, _stream: u64) -> u32 {
    0
}

#[unsafe(no_mangle)]
extern "C" fn cuDevicePrimaryCtxReset_v2(_device: i32) -> u32 {
    ACTIVE.store(false, Relaxed);
    0
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuDevicePrimaryCtxRetain(context: *mut u64, _device: i32) -> u32 {
    ACTIVE.store(true, Relaxed);
    // SAFETY: callers pass a place for the handle.
    unsafe { *context = 0x1000 };
    0
}

#[unsafe(no_mangle)]
extern "C" fn cuStreamBeginRecaptureToGraph(
    _stream: u64,
    mode: u32,
    graph: u64,
    callback: *const c_void,
    data: *mut c_void,
) -> u32 {
    let given = (mode, graph, callback as usize, data as usize);
    CAPTURING.store(given == (2, 3, 4, 5), Relaxed);
    if given == (2, 3, 4, 5) { 0 } else { 1 }
}

#[unsafe(no_mangle)]
extern "C" fn cuStreamEndCapture(_stream: u64, _graph: *mut u64) -> u32 {
    CAPTURING.store(false, Relaxed);
    0
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuStreamIsCapturing(_stream: u64, status: *mut u32) -> u32 {
    // SAFETY: callers pass a place for the status.
    unsafe { *status = CAPTURING.load(Relaxed).into() };
    0
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuCtxGetCurrent(context: *mut u64) -> u32 {
    // SAFETY: callers pass a place for the handle.
    unsafe { *context = 0x1000 };
    0
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuCtxGetDevice(device: *mut i32) -> u32 {
    if !ACTIVE.load(Relaxed) {
        return CONTEXT_IS_DESTROYED;
    }
    // SAFETY: callers pass a place for the number.
    unsafe { *device = 3 };
    0
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuMemGetInfo_v2(free: *mut usize, total: *mut usize) -> u32 {
    // SAFETY: callers pass places for both.
    unsafe { (*free, *total) = (5 << 20, 9 << 20) };
    0
}

unsafe fn find(name: *const c_char, function: *mut *const c_void, version: i32) -> u32 {
    // SAFETY: callers pass a name that ends with a zero, and a place for the function.
    let (name, function) = unsafe { (CStr::from_ptr(name), &mut *function) };
    *function = match (name.to_bytes(), version) {
        (b"cuMemAlloc", _) => hidden_alloc as *const c_void,
        (b"cuMemFree", _) => hidden_free as *const c_void,
        (b"cuGetProcAddress", ..12000) => hidden_get as *const c_void,
        (b"cuGetProcAddress", _) => hidden_get_v2 as *const c_void,
        _ => return NOT_FOUND,
    };
    0
}

unsafe extern "C" fn hidden_get(
    name: *const c_char,
    function: *mut *const c_void,
    version: i32,
    _flags: u64,
) -> u32 {
    // SAFETY: as documented.
    unsafe { find(name, function, version) }
}

unsafe extern "C" fn hidden_get_v2(
    name: *const c_char,
    function: *mut *const c_void,
    version: i32,
    _flags: u64,
    _status: *mut u32,
) -> u32 {
    // SAFETY: as documented.
    unsafe { find(name, function, version) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuGetProcAddress_v2(
    name: *const c_char,
    function: *mut *const c_void,
    version: i32,
    flags: u64,
    status: *mut u32,
) -> u32 {
    // SAFETY: as documented.
    unsafe { hidden_get_v2(name, function, version, flags, status) }
}
