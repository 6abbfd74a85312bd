//! Names that the driver hands out.

use std::{
    collections::HashSet,
    ffi::{CStr, CString, c_char},
    sync::{Mutex, PoisonError},
};

/// A name that callers may keep: each is stored once and for ever.
pub(crate) fn kept_name(name: &str) -> *const c_char {
    static NAMES: Mutex<Option<HashSet<&'static CStr>>> = Mutex::new(None);
    let mut names = NAMES.lock().unwrap_or_else(PoisonError::into_inner);
    let names = names.get_or_insert_default();
    let name = CString::new(name).unwrap_or_default();
    if let Some(kept) = names.get(name.as_c_str()) {
        return kept.as_ptr();
    }
    let kept: &'static CStr = Box::leak(name.into_boxed_c_str());
    names.insert(kept);
    kept.as_ptr()
}
