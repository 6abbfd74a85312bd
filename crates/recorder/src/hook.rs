//! A hook: the function under its own exported name, a place for the real one, and what
//! `cuGetProcAddress` calls it.

use std::{
    ffi::{CStr, c_void},
    mem, ptr,
    sync::atomic::{AtomicPtr, Ordering::Relaxed},
};

use crate::resolution::real;

/// `CU_STREAM_PER_THREAD`.
const STREAM_PER_THREAD: u64 = 2;

/// Whether every driver must have the function for the recording to be whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// Every driver since CUDA 11.2 has it.
    Required,
    /// Older or newer drivers lack it.
    Optional,
}

/// What a function is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Family {
    /// The way to the other functions.
    Resolution,
    /// Plain, pitched and managed device memory.
    Device,
    /// Arrays.
    Arrays,
    /// Stream-ordered memory and its pools.
    Pools,
    /// Virtual memory.
    VirtualMemory,
    /// Page-locked host memory.
    Host,
    /// Memory of other processes.
    Ipc,
    /// Contexts and their limits.
    Contexts,
    /// Modules and libraries.
    Code,
    /// Graphs, for the memory of their nodes.
    Graphs,
    /// Launches, where they fail.
    Launches,
    /// Copies and fills, where they fail.
    Copies,
    /// Calls that are recorded only if the driver had no memory for them.
    Refusals,
    /// Waiting for the device.
    Synchronize,
    /// Streams, where they end.
    Streams,
    /// PyTorch's reports of its blocks.
    Torch,
    /// What whyoom's pool tells of itself.
    PoolCallbacks,
    /// Where the program says that it is.
    Mark,
}

/// A hooked driver function, in one of its versions.
#[derive(Debug)]
pub struct Hook {
    /// The name under which the driver exports it, and we too.
    pub symbol: &'static CStr,
    /// What `cuGetProcAddress` calls it.
    pub base: &'static str,
    /// The first CUDA version for which that means this one.
    pub since: i32,
    /// The first CUDA version for which that means a newer one.
    pub until: i32,
    /// Whether it is the variant whose default stream is the thread's own.
    pub per_thread: bool,
    /// Whether every driver has it.
    pub need: Need,
    /// What it is about.
    pub family: Family,
    /// The hook itself.
    pub(crate) wrapper: *const c_void,
    real: AtomicPtr<c_void>,
}

// SAFETY: the pointer that is not atomic is the address of code, and nobody writes through it.
unsafe impl Sync for Hook {}

impl Hook {
    #[allow(clippy::too_many_arguments, reason = "called by the macro alone")]
    pub(crate) const fn new(
        symbol: &'static CStr,
        base: &'static str,
        (since, until): (i32, i32),
        per_thread: bool,
        need: Need,
        family: Family,
        wrapper: *const c_void,
    ) -> Self {
        let real = AtomicPtr::new(ptr::null_mut());
        Self { symbol, base, since, until, per_thread, need, family, wrapper, real }
    }

    /// Notes where the real function is. The first answer stays: it is the driver's own.
    pub(crate) fn found(&self, address: *mut c_void) {
        let _ = self.real.compare_exchange(ptr::null_mut(), address, Relaxed, Relaxed);
    }

    /// Returns true if the hook may be handed out in place of `found`. Its real function is then the driver's export of
    /// this name if `found` is another address of the same library, so that it does not become the real function of all
    /// callers. An address in another library is a wrapper, such as a quota's, that the hook must call.
    pub(crate) fn stands_for(&self, found: *mut c_void) -> bool {
        let exported = self.exported();
        let is_export = !exported.is_null() && are_in_same_library(found, exported);
        let real = if is_export { exported } else { found };
        self.found(real);
        self.real.load(Relaxed) == real
    }

    /// Returns true if this is the variant of `plain` whose default stream is the thread's own.
    pub(crate) fn is_variant_of(&self, plain: &Self) -> bool {
        let (own, plain) = (self.symbol.to_bytes(), plain.symbol.to_bytes());
        self.per_thread && own.strip_prefix(plain).is_some_and(|rest| rest.starts_with(b"_pt"))
    }

    /// The real function, found on first use.
    ///
    /// # Safety
    /// `F` is the documented signature of the driver's function of this name.
    pub(crate) unsafe fn real<F: Copy>(&self) -> Option<F> {
        const { assert!(size_of::<F>() == size_of::<*mut c_void>()) };
        let mut address = self.real.load(Relaxed);
        if address.is_null() {
            address = real::driver_symbol_or_load(self.symbol);
            // A driver that resolved its own name to our export would have us call ourselves.
            if address.is_null() || address.cast_const() == self.wrapper {
                return None;
            }
            self.found(address);
        }
        // SAFETY: the caller says what the signature is; a function pointer is a pointer.
        Some(unsafe { mem::transmute_copy::<*mut c_void, F>(&address) })
    }

    /// The stream that a call of it was given, as functions without a default stream of the thread's own
    /// take it.
    pub(crate) fn stream_meant(&self, stream: u64) -> u64 {
        if stream == 0 && self.per_thread { STREAM_PER_THREAD } else { stream }
    }

    /// The address under which the loaded driver exports it; null where it does not.
    pub(crate) fn exported(&self) -> *mut c_void {
        real::driver_symbol(self.symbol)
    }
}

/// Returns true if two addresses lie in the same loaded library.
fn are_in_same_library(one: *mut c_void, other: *mut c_void) -> bool {
    let base = library_base(one);
    base.is_some() && base == library_base(other)
}

/// Returns the address at which the library of an address is loaded. Returns `None` if the address is in no library.
fn library_base(address: *mut c_void) -> Option<*mut c_void> {
    let mut info = mem::MaybeUninit::<libc::Dl_info>::uninit();
    // SAFETY: the call only compares the address, and writes the structure if it answers with another number than 0.
    unsafe {
        let is_found = libc::dladdr(address, info.as_mut_ptr()) != 0;
        is_found.then(|| info.assume_init().dli_fbase)
    }
}
