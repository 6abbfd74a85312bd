//! A program for tests that uses the driver in one of the ways that there are, and prints what it
//! sees: the recorder must not change a byte of it.

#![allow(missing_docs, clippy::undocumented_unsafe_blocks, reason = "a test's program")]

use std::{
    ffi::{CStr, c_char, c_void},
    mem::transmute,
    ptr,
};

type Alloc = unsafe extern "C-unwind" fn(*mut u64, usize) -> u32;
type Pitch = unsafe extern "C" fn(*mut u64, *mut usize, usize, usize, u32) -> u32;
type Free = unsafe extern "C" fn(u64) -> u32;
type Get = unsafe extern "C" fn(*const c_char, *mut *mut c_void, i32, u64) -> u32;
type GetV2 = unsafe extern "C" fn(*const c_char, *mut *mut c_void, i32, u64, *mut u32) -> u32;

fn symbol(driver: *mut c_void, name: &CStr) -> *mut c_void {
    unsafe { libc::dlsym(driver, name.as_ptr()) }
}

fn get(get: GetV2, name: &CStr, version: i32) -> *mut c_void {
    let mut found = ptr::null_mut();
    unsafe { get(name.as_ptr(), &mut found, version, 0, ptr::null_mut()) };
    found
}

fn allocate(alloc: *mut c_void, bytes: usize) -> u64 {
    let alloc: Alloc = unsafe { transmute(alloc) };
    let mut address = 0;
    let result = unsafe { alloc(&mut address, bytes) };
    let errno = std::io::Error::last_os_error().raw_os_error();
    println!("alloc {bytes}: {result} {address:#x} errno {errno:?}");
    address
}

fn free(free: *mut c_void, address: u64) {
    let free: Free = unsafe { transmute(free) };
    println!("free: {}", unsafe { free(address) });
}

fn pitched(driver: *mut c_void) {
    let pitched: Pitch = unsafe { transmute(symbol(driver, c"cuMemAllocPitch_v2")) };
    let (mut address, mut pitch) = (0, 0);
    let result = unsafe { pitched(&mut address, &mut pitch, 100, 7, 4) };
    println!("pitched: {result} {address:#x} {pitch}");
}

fn by_proc_address(driver: *mut c_void, version: i32) {
    let first: GetV2 = unsafe { transmute(symbol(driver, c"cuGetProcAddress_v2")) };
    let second: GetV2 = unsafe { transmute(get(first, c"cuGetProcAddress", 12000)) };
    let old: Get = unsafe { transmute(get(second, c"cuGetProcAddress", 11030)) };
    let mut alloc = ptr::null_mut();
    unsafe { old(c"cuMemAlloc".as_ptr(), &mut alloc, version, 0) };
    let address = allocate(alloc, 3 << 20);
    free(get(second, c"cuMemFree", version), address);
}

extern "C" fn allocate_mebibyte(alloc: *mut c_void) -> i32 {
    allocate(alloc, 1 << 20);
    0
}

/// Allocates from under one of two libraries, which is loaded for it and takes the other's place.
#[inline(never)]
fn through_library(alloc: *mut c_void, round: usize) {
    type Passing = unsafe extern "C" fn(extern "C" fn(*mut c_void) -> i32, *mut c_void) -> i32;
    let name = [c"libeven.so", c"libodd.so"][round % 2];
    unsafe {
        let library = libc::dlopen(name.as_ptr(), libc::RTLD_NOW);
        let passing: Passing = transmute(symbol(library, c"passing"));
        println!("passed {} at the same place: {}", passing(allocate_mebibyte, alloc), {
            static FIRST: std::sync::OnceLock<usize> = std::sync::OnceLock::new();
            *FIRST.get_or_init(|| passing as usize) == passing as usize
        });
        libc::dlclose(library);
    }
}

/// Allocates, and ends inside the driver.
extern "C-unwind" fn ended_by_driver(alloc: *mut c_void) -> *mut c_void {
    let alloc: Alloc = unsafe { transmute(alloc) };
    let mut address = 0;
    unsafe { alloc(&mut address, 512) };
    unsafe { alloc(&mut address, 77) };
    println!("not ended");
    ptr::null_mut()
}

fn one_by_one(alloc: *mut c_void) {
    type Start = extern "C" fn(*mut c_void) -> *mut c_void;
    let start = ended_by_driver as extern "C-unwind" fn(*mut c_void) -> *mut c_void;
    let start: Start = unsafe { transmute(start) };
    for _ in 0..20 {
        let mut thread = 0;
        unsafe { libc::pthread_create(&mut thread, ptr::null(), start, alloc) };
        unsafe { libc::pthread_join(thread, ptr::null_mut()) };
    }
    allocate(alloc, 1024);
}

/// What a pool may serve, and what it may not. Addresses tell who did.
fn pooled(driver: *mut c_void) {
    type AllocAsync = unsafe extern "C" fn(*mut u64, usize, u64) -> u32;
    type FreeAsync = unsafe extern "C" fn(u64, u64) -> u32;
    let (alloc, end) = (symbol(driver, c"cuMemAlloc_v2"), symbol(driver, c"cuMemFree_v2"));
    for bytes in [1000, 2 << 20, 1 << 20] {
        let address = allocate(alloc, bytes);
        free(end, address);
    }
    let alloc: AllocAsync = unsafe { transmute(symbol(driver, c"cuMemAllocAsync_ptsz")) };
    let free: FreeAsync = unsafe { transmute(symbol(driver, c"cuMemFreeAsync_ptsz")) };
    let mut address = 0;
    println!("alloc: {}", unsafe { alloc(&mut address, 100, 0) });
    println!("{address:#x} free: {}", unsafe { free(address, 5) });
    let destroy: Free = unsafe { transmute(symbol(driver, c"cuStreamDestroy_v2")) };
    println!("destroy: {}", unsafe { destroy(5) });
    type Info = unsafe extern "C" fn(*mut usize, *mut usize) -> u32;
    let info: Info = unsafe { transmute(symbol(driver, c"cuMemGetInfo_v2")) };
    let (mut left, mut all) = (0, 0);
    let result = unsafe { info(&mut left, &mut all) };
    println!("info: {result} {} of {}", left >> 20, all >> 20);
    type Reset = unsafe extern "C" fn(i32) -> u32;
    let reset: Reset = unsafe { transmute(symbol(driver, c"cuDevicePrimaryCtxReset_v2")) };
    println!("reset: {}", unsafe { reset(3) });
    let gone = symbol(libc::RTLD_DEFAULT, c"fake_pool_streams_gone");
    if !gone.is_null() {
        let gone: extern "C" fn() -> u32 = unsafe { transmute(gone) };
        println!("gone: {}", gone());
    }
    pitched(driver);
}

extern "C" fn nothing(_: *mut c_void) -> *mut c_void {
    ptr::null_mut()
}

/// Starts a thread with the smallest stack that POSIX systems allow.
fn small_stack() {
    // `PTHREAD_STACK_MIN` of glibc on x86-64, before 2.34 made it depend on thread-local storage.
    const SMALLEST_BYTES: usize = 16 << 10;
    unsafe {
        let mut attributes: libc::pthread_attr_t = std::mem::zeroed();
        libc::pthread_attr_init(&mut attributes);
        let set = libc::pthread_attr_setstacksize(&mut attributes, SMALLEST_BYTES);
        let mut thread = 0;
        let started = libc::pthread_create(&mut thread, &attributes, nothing, ptr::null_mut());
        if started == 0 {
            libc::pthread_join(thread, ptr::null_mut());
        }
        println!("set: {set}, started: {started}");
    }
}

/// Allocates after a reset, and again when the context is active.
fn reset(driver: *mut c_void) {
    type Reset = unsafe extern "C" fn(i32) -> u32;
    type Retain = unsafe extern "C" fn(*mut u64, i32) -> u32;
    let reset: Reset = unsafe { transmute(symbol(driver, c"cuDevicePrimaryCtxReset_v2")) };
    let retain: Retain = unsafe { transmute(symbol(driver, c"cuDevicePrimaryCtxRetain")) };
    let alloc = symbol(driver, c"cuMemAlloc_v2");
    let mut context = 0;
    println!("reset: {}", unsafe { reset(3) });
    allocate(alloc, 1 << 20);
    println!("retain: {}", unsafe { retain(&mut context, 3) });
    allocate(alloc, 2 << 20);
}

/// Allocates in a stream that captures again into a graph, and after the capture.
fn recaptured(driver: *mut c_void) {
    type Begin = unsafe extern "C" fn(u64, u32, u64, *const c_void, *mut c_void) -> u32;
    type End = unsafe extern "C" fn(u64, *mut u64) -> u32;
    type AllocAsync = unsafe extern "C" fn(*mut u64, usize, u64) -> u32;
    let begin: Begin = unsafe { transmute(symbol(driver, c"cuStreamBeginRecaptureToGraph")) };
    let end: End = unsafe { transmute(symbol(driver, c"cuStreamEndCapture")) };
    let alloc: AllocAsync = unsafe { transmute(symbol(driver, c"cuMemAllocAsync_ptsz")) };
    let (mut address, mut graph) = (0, 0);
    let (callback, data) = (ptr::without_provenance(4), ptr::without_provenance_mut(5));
    println!("begin: {}", unsafe { begin(9, 2, 3, callback, data) });
    println!("alloc: {}", unsafe { alloc(&mut address, 100, 9) });
    println!("end: {}", unsafe { end(9, &mut graph) });
    println!("alloc: {}", unsafe { alloc(&mut address, 200, 9) });
}

/// Calls that are recorded only if the driver has no memory for them: each works once and is then refused.
fn refused(driver: *mut c_void) {
    type Create = unsafe extern "C" fn(*mut u64, u32) -> u32;
    type Instantiate = unsafe extern "C" fn(*mut u64, u64, u64) -> u32;
    type Map = unsafe extern "C" fn(u64, usize, usize, u64, u64) -> u32;
    type Access = unsafe extern "C" fn(u64, usize, *const c_void, usize) -> u32;
    type Bind = unsafe extern "C" fn(u64, i32, usize, u64, usize, usize, u64) -> u32;
    let create: Create = unsafe { transmute(symbol(driver, c"cuStreamCreate")) };
    let make: Instantiate = unsafe { transmute(symbol(driver, c"cuGraphInstantiateWithFlags")) };
    let map: Map = unsafe { transmute(symbol(driver, c"cuMemMap")) };
    let access: Access = unsafe { transmute(symbol(driver, c"cuMemSetAccess")) };
    let bind: Bind = unsafe { transmute(symbol(driver, c"cuMulticastBindMem_v2")) };
    let mut made = 0;
    for number in [1, 7] {
        let results = unsafe {
            [
                create(&mut made, number),
                make(&mut made, number.into(), 0),
                map(1 << 41, 2 << 20, 0, number.into(), 0),
                access(1 << 41, 2 << 20, ptr::null(), number as usize),
                bind(1, 2, 3, 4, 5, 6, number.into()),
            ]
        };
        println!("{results:?}");
    }
}

/// Two iterations and a phase, where a recorder is there to be told. It says nothing of that: the output
/// is the same without.
fn marked(alloc: *mut c_void) {
    type Mark = unsafe extern "C" fn(u32, *const c_char) -> u32;
    let mark = symbol(libc::RTLD_DEFAULT, c"whyoom_recorder_mark");
    let tell = |kind: u32, name: *const c_char| {
        if !mark.is_null() {
            let mark: Mark = unsafe { transmute(mark) };
            assert_eq!(unsafe { mark(kind, name) }, 1);
        }
    };
    tell(1, c"load".as_ptr());
    allocate(alloc, 512);
    tell(0, c"step".as_ptr());
    tell(0, ptr::null());
    let long = std::ffi::CString::new("x".repeat(5000)).unwrap_or_default();
    tell(1, long.as_ptr());
    for number in 0..5000 {
        let name = std::ffi::CString::new(format!("step {number}")).unwrap_or_default();
        tell(0, name.as_ptr());
    }
}

fn main() {
    let way = std::env::args().nth(1).unwrap_or_default();
    let driver = unsafe { libc::dlopen(c"libcuda.so.1".as_ptr(), libc::RTLD_NOW) };
    assert!(!driver.is_null(), "no driver");
    let alloc = symbol(driver, c"cuMemAlloc_v2");
    let free_it = symbol(driver, c"cuMemFree_v2");
    match way.as_str() {
        "dlsym" => free(free_it, allocate(alloc, 1 << 20)),
        "dlvsym" => {
            let version = c"NONE_1.0";
            let found =
                unsafe { libc::dlvsym(driver, c"cuMemAlloc_v2".as_ptr(), version.as_ptr()) };
            println!("dlvsym: {}", found.is_null());
        }
        "missing" => {
            println!("{}", symbol(driver, c"cuMemAllocAsync").is_null());
            println!("{}", symbol(libc::RTLD_DEFAULT, c"cuMemAllocAsync").is_null());
            println!("{}", unsafe { libc::dlerror() }.is_null());
        }
        "get" => by_proc_address(driver, 12000),
        "unknown" => by_proc_address(driver, 14000),
        "nested" => pitched(driver),
        "fails" => drop(allocate(alloc, 1 << 50)),
        "closed" => {
            unsafe { libc::dlclose(driver) };
            let again = unsafe { libc::dlopen(c"libcuda.so.1".as_ptr(), libc::RTLD_NOW) };
            let address = allocate(symbol(again, c"cuMemAlloc_v2"), 1 << 20);
            free(symbol(again, c"cuMemFree_v2"), address);
        }
        "taken-places" => (0..6).for_each(|round| through_library(alloc, round)),
        "threads" => std::thread::scope(|scope| {
            let alloc = alloc as usize;
            for _ in 0..8 {
                scope.spawn(move || {
                    let alloc: Alloc = unsafe { transmute(alloc as *mut c_void) };
                    let mut address = 0;
                    for _ in 0..1000 {
                        unsafe { alloc(&mut address, 512) };
                    }
                });
            }
        }),
        "one by one" => one_by_one(alloc),
        "marked" => marked(alloc),
        "pooled" => pooled(driver),
        "refused" => refused(driver),
        "reset" => reset(driver),
        "small stack" => small_stack(),
        "recaptured" => recaptured(driver),
        "fork" => {
            allocate(alloc, 1);
            let child = unsafe { libc::fork() };
            if child == 0 {
                allocate(alloc, 2);
                allocate(alloc, 3);
                unsafe { libc::_exit(7) };
            }
            let mut status = 0;
            unsafe { libc::waitpid(child, &mut status, 0) };
            allocate(alloc, 2);
            println!("child: {status}");
        }
        "killed" => {
            for _ in 0..100 {
                allocate(alloc, 512);
            }
            unsafe { libc::kill(libc::getpid(), libc::SIGKILL) };
        }
        _ => println!("unknown way {way}"),
    }
}
