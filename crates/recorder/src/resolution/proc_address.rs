//! `cuGetProcAddress`, through which the CUDA runtime finds every driver function: what it returns is
//! replaced by the hook (`hook_table` declares its own). It is asked for itself, too, in either version.

use std::ffi::{CStr, c_char, c_void};

use super::lookup_log;
use crate::{hook::Hook, result_code::Code};

/// `CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM`.
const PER_THREAD: u64 = 2;

/// Functions whose signatures are known here are those of the CUDA versions below this one.
const FIRST_UNKNOWN_VERSION: i32 = 14000;

/// Replaces what the driver answered by our hook, where it is a function of the table.
pub(crate) fn replace<T: Iterator<Item = &'static Hook>>(
    table: impl Fn() -> T,
    (name, function, version, flags): (*const c_char, *mut *mut c_void, i32, u64),
    result: Code,
) {
    if result != 0 || name.is_null() || function.is_null() {
        return;
    }
    // SAFETY: the driver took both without an error: the name ends with a zero, and it wrote the
    // function where the program asked for it.
    let (name, found) = unsafe { (CStr::from_ptr(name), *function) };
    if found.is_null() {
        return;
    }
    let hook = hook_for(table, name, found, version, flags);
    lookup_log::saw("cuGetProcAddress", name, version, hook);
    if let Some(hook) = hook.filter(|hook| hook.wrapper != found.cast_const()) {
        hook.found(found);
        // SAFETY: as above.
        unsafe { *function = hook.wrapper.cast_mut() };
    }
}

/// The hook for what the driver found; that may be the hook already, where a driver refers to its own
/// functions by name and so gets ours. Otherwise its address tells best which version of the function it is;
/// what is exported under no name that we know is told by the version that was asked for, and only
/// where that is one whose signatures we know.
fn hook_for<T: Iterator<Item = &'static Hook>>(
    table: impl Fn() -> T,
    name: &CStr,
    found: *mut c_void,
    version: i32,
    flags: u64,
) -> Option<&'static Hook> {
    let name = renamed(name.to_str().ok()?, version);
    let named = || table().filter(|hook| hook.base == name || hook.symbol.to_str() == Ok(name));
    let is_found = |hook: &&Hook| hook.wrapper == found.cast_const() || hook.exported() == found;
    if let Some(hook) = named().find(is_found) {
        return Some(hook);
    }
    by_version(named, name, version, flags).filter(|hook| hook.stands_for(found))
}

/// A name that from some version on means a function which has another one of its own.
fn renamed(name: &str, version: i32) -> &str {
    match name {
        "cuGraphInstantiate" if version >= 12000 => "cuGraphInstantiateWithFlags",
        name => name,
    }
}

/// Returns the hook of the function that a name means in a CUDA version, with these flags. Returns `None` if the version
/// has no such function, or is too new to be known.
fn by_version<T: Iterator<Item = &'static Hook>>(
    named: impl Fn() -> T,
    name: &str,
    version: i32,
    flags: u64,
) -> Option<&'static Hook> {
    if version >= FIRST_UNKNOWN_VERSION {
        return None;
    }
    let meant = || named().filter(|hook| hook.base == name);
    let in_range = |hook: &&Hook| (hook.since..hook.until).contains(&version);
    let plain = meant().filter(|hook| !hook.per_thread).find(in_range)?;
    if flags & PER_THREAD == 0 {
        return Some(plain);
    }
    // The flag alone says which variant is meant, also for versions before the variant's own. Most functions have none.
    Some(meant().find(|hook| hook.is_variant_of(plain)).unwrap_or(plain))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hook_table::table;

    fn meant(name: &str, version: i32, flags: u64) -> Option<&'static str> {
        let name = renamed(name, version);
        let named = || table().filter(|hook| hook.base == name);
        by_version(named, name, version, flags).and_then(|hook| hook.symbol.to_str().ok())
    }

    #[test]
    fn the_version_asked_for_says_which_function_is_meant() {
        assert_eq!(meant("cuMemAlloc", 12000, 0), Some("cuMemAlloc_v2"));
        assert_eq!(meant("cuMemAlloc", 3000, 0), None, "addresses had 32 bits");
        assert_eq!(meant("cuGetProcAddress", 11040, 0), Some("cuGetProcAddress"));
        assert_eq!(meant("cuGetProcAddress", 12000, 0), Some("cuGetProcAddress_v2"));
        assert_eq!(meant("cuMemAlloc", 14000, 0), None, "not known yet");
        assert_eq!(meant("cuGraphInstantiate", 11080, 0), Some("cuGraphInstantiate_v2"));
        assert_eq!(meant("cuGraphInstantiate", 12000, 0), Some("cuGraphInstantiateWithFlags"));
        assert_eq!(meant("cuCtxSynchronize", 13000, 0), Some("cuCtxSynchronize_v2"));
    }

    #[test]
    fn the_flags_say_whose_default_stream() {
        assert_eq!(meant("cuMemAllocAsync", 12000, 0), Some("cuMemAllocAsync"));
        assert_eq!(meant("cuMemAllocAsync", 12000, 2), Some("cuMemAllocAsync_ptsz"));
        assert_eq!(meant("cuMemAlloc", 12000, 2), Some("cuMemAlloc_v2"));
        // The first version of each is older than its variant with the thread's own stream.
        assert_eq!(meant("cuMemcpy", 4000, 2), Some("cuMemcpy_ptds"));
        assert_eq!(meant("cuMemcpy", 4000, 0), Some("cuMemcpy"));
        assert_eq!(meant("cuStreamSynchronize", 4000, 2), Some("cuStreamSynchronize_ptsz"));
        assert_eq!(meant("cuMemcpy", 3000, 2), None, "there was no such function");
        assert_eq!(meant("cuStreamBeginCapture", 10000, 2), None, "it had other parameters");
    }
}
