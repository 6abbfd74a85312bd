//! The real functions: the loader's, and the driver's.

use std::{
    ffi::{CStr, c_char, c_void},
    mem,
    ptr::{self, NonNull},
    sync::atomic::{AtomicPtr, Ordering::Relaxed},
};

use whyoom_stacks::loaded_symbol;

/// `dlsym`.
type Dlsym = unsafe extern "C" fn(*mut c_void, *const c_char) -> *mut c_void;
/// `dlvsym`.
type Dlvsym = unsafe extern "C" fn(*mut c_void, *const c_char, *const c_char) -> *mut c_void;

/// The driver's file name. Exactly this one is opened by everything that uses CUDA.
const DRIVER_FILE: &CStr = c"libcuda.so.1";

/// The loader's own functions. The hooks of `look_up` jump through these.
pub(super) static DLSYM: AtomicPtr<c_void> = AtomicPtr::new(ptr::null_mut());
pub(super) static DLVSYM: AtomicPtr<c_void> = AtomicPtr::new(ptr::null_mut());
static DLCLOSE: AtomicPtr<c_void> = AtomicPtr::new(ptr::null_mut());

static DRIVER: AtomicPtr<c_void> = AtomicPtr::new(ptr::null_mut());

/// Finds the loader's functions, once; whether they are there.
pub(crate) fn find_loader() -> bool {
    if DLVSYM.load(Relaxed).is_null() {
        let dlsym = loader_function(c"dlsym");
        DLSYM.store(next(c"dlsym", dlsym, dlsym), Relaxed);
        DLCLOSE.store(next(c"dlclose", loader_function(c"dlclose"), dlsym), Relaxed);
        DLVSYM.store(loader_function(c"dlvsym"), Relaxed);
    }
    !DLSYM.load(Relaxed).is_null() && !DLVSYM.load(Relaxed).is_null()
}

/// The loader's function that a program would have without us: another library may stand before the loader's own, to
/// answer with functions that keep a quota (HAMi does). What it answers must stay in force.
fn next(name: &CStr, loaders: *mut c_void, dlsym: *mut c_void) -> *mut c_void {
    if dlsym.is_null() {
        return loaders;
    }
    // SAFETY: `loader_function` found the function of that name, which has this signature.
    let ask = unsafe { mem::transmute::<*mut c_void, Dlsym>(dlsym) };
    // SAFETY: the handle is the documented one for the libraries behind the one that asks, which is ours.
    let next = unsafe { ask(libc::RTLD_NEXT, name.as_ptr()) };
    if next.is_null() { loaders } else { next }
}

/// The real `dlclose`; null where there is none.
pub(super) fn dlclose() -> *mut c_void {
    find_loader();
    DLCLOSE.load(Relaxed)
}

/// Since glibc 2.34 they are in the C library itself.
fn loader_function(name: &CStr) -> *mut c_void {
    let libraries = ["libc.so.6", "libdl.so.2", "libc.so"].iter();
    let mut found = libraries.map(|library| function_of(library, name));
    found.find(|address| !address.is_null()).unwrap_or(ptr::null_mut())
}

/// What the real `dlsym` answers; null where it finds nothing.
pub(crate) fn symbol(handle: *mut c_void, name: &CStr) -> *mut c_void {
    if !find_loader() {
        return ptr::null_mut();
    }
    // SAFETY: `find_loader` found the function of that name, which has this signature.
    let real = unsafe { mem::transmute::<*mut c_void, Dlsym>(DLSYM.load(Relaxed)) };
    // SAFETY: the handle comes from `dlopen` or is one of the documented ones; the name ends with
    // a zero.
    unsafe { real(handle, name.as_ptr()) }
}

/// What the real `dlvsym` answers.
pub(super) fn versioned_symbol(
    handle: *mut c_void,
    name: &CStr,
    version: *const c_char,
) -> *mut c_void {
    // SAFETY: as in `symbol`; callers come here when the loader's functions were found.
    let real = unsafe { mem::transmute::<*mut c_void, Dlvsym>(DLVSYM.load(Relaxed)) };
    // SAFETY: the version is the program's own argument for the same function.
    unsafe { real(handle, name.as_ptr(), version) }
}

/// A library that is loaded already, kept from being unloaded.
pub(crate) fn loaded(file: &CStr) -> *mut c_void {
    let flags = libc::RTLD_LAZY | libc::RTLD_NOLOAD | libc::RTLD_NODELETE;
    open(file, flags)
}

fn open(file: &CStr, flags: i32) -> *mut c_void {
    // SAFETY: the name ends with a zero.
    let handle = unsafe { libc::dlopen(file.as_ptr(), flags) };
    if handle.is_null() {
        // The program must not read our failure as its own.
        // SAFETY: takes nothing, and only clears this thread's last error.
        unsafe { libc::dlerror() };
    }
    handle
}

/// The driver, if the program has loaded it. It stays loaded from then on: the program may hold our
/// hooks, which call into it, beyond its own `dlclose`.
pub(crate) fn driver() -> *mut c_void {
    let known = DRIVER.load(Relaxed);
    if !known.is_null() {
        return known;
    }
    let handle = loaded(DRIVER_FILE);
    DRIVER.store(handle, Relaxed);
    handle
}

/// The driver, loaded now if need be: for a program that reached a hook without loading it.
fn driver_or_load() -> *mut c_void {
    let known = driver();
    if !known.is_null() {
        return known;
    }
    let handle = open(DRIVER_FILE, libc::RTLD_NOW | libc::RTLD_NODELETE);
    DRIVER.store(handle, Relaxed);
    handle
}

/// A function of the driver that is loaded.
pub(crate) fn driver_symbol(name: &CStr) -> *mut c_void {
    let driver = driver();
    if driver.is_null() { ptr::null_mut() } else { symbol(driver, name) }
}

/// A function of the driver, which is loaded for it.
pub(crate) fn driver_symbol_or_load(name: &CStr) -> *mut c_void {
    let driver = driver_or_load();
    if driver.is_null() { ptr::null_mut() } else { symbol(driver, name) }
}

/// A function of the driver that is loaded, found without the loader's lock if it can be: the program
/// may hold locks here which a library that is just being loaded waits for.
fn driver_function(name: &CStr) -> *mut c_void {
    let found = function_of("libcuda.so", name);
    if found.is_null() { driver_symbol(name) } else { found }
}

/// A function of another library that is loaded, likewise.
pub(crate) fn function_of(library: &str, name: &CStr) -> *mut c_void {
    loaded_symbol(library, name).map_or(ptr::null_mut(), NonNull::as_ptr)
}

/// A documented driver function that the recorder itself calls: found once, never hooked.
pub(crate) struct Function<F> {
    name: &'static CStr,
    address: AtomicPtr<c_void>,
    signature: std::marker::PhantomData<fn() -> F>,
}

impl<F: Copy> Function<F> {
    /// The function of that name, which has the signature `F`.
    pub(crate) const fn named(name: &'static CStr) -> Self {
        const { assert!(size_of::<F>() == size_of::<*mut c_void>()) };
        let address = AtomicPtr::new(ptr::null_mut());
        Self { name, address, signature: std::marker::PhantomData }
    }

    /// The function, where the loaded driver has it.
    pub(crate) fn get(&self) -> Option<F> {
        let mut address = self.address.load(Relaxed);
        if address.is_null() {
            address = driver_function(self.name);
            self.address.store(address, Relaxed);
        }
        if address.is_null() {
            return None;
        }
        // SAFETY: `F` is the documented signature of the driver's function of that name (whoever
        // made this said so), and a function pointer is as large as a pointer.
        Some(unsafe { mem::transmute_copy::<*mut c_void, F>(&address) })
    }
}
