//! A function of a loaded library, read from the library's own tables: for what `dlsym` cannot be
//! asked, because it is `dlsym` itself or takes locks.

use std::ffi::{CStr, c_int, c_void};
use std::ptr::NonNull;

use crate::elf::Image;
use crate::snapshot::iterate;

struct Search<'a> {
    library: &'a [u8],
    symbol: &'a CStr,
    found: Option<NonNull<c_void>>,
}

/// The address of a function in the first loaded library whose file name begins like that and that
/// defines it.
#[must_use]
pub fn loaded_symbol(library: &str, symbol: &CStr) -> Option<NonNull<c_void>> {
    let mut search = Search { library: library.as_bytes(), symbol, found: None };
    iterate(visit, &mut search);
    search.found
}

/// # Safety
/// `info` is the loader's, `search` is a `Search`.
unsafe extern "C" fn visit(
    info: *mut libc::dl_phdr_info,
    _size: usize,
    search: *mut c_void,
) -> c_int {
    // SAFETY: as promised by the caller.
    let (info, search) = unsafe { (&*info, &mut *search.cast::<Search<'_>>()) };
    if info.dlpi_name.is_null() {
        return 0;
    }
    // SAFETY: the loader's names end with 0 and live while its lock is held.
    let path = unsafe { CStr::from_ptr(info.dlpi_name) }.to_bytes();
    let name = path.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
    if !name.starts_with(search.library) {
        return 0;
    }
    // SAFETY: the loader lists the headers of modules that are loaded while its lock is held.
    let image = unsafe {
        let headers = std::slice::from_raw_parts(info.dlpi_phdr, usize::from(info.dlpi_phnum));
        Image::new(info.dlpi_addr, headers)
    };
    let found = image.exports().and_then(|exports| exports.find(search.symbol));
    search.found = found.and_then(|address| NonNull::new(address as *mut c_void));
    c_int::from(search.found.is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_finds_what_the_loader_finds() {
        let since_2_34 = loaded_symbol("libc.so.6", c"dlvsym");
        assert!(since_2_34.or_else(|| loaded_symbol("libdl.so.2", c"dlvsym")).is_some());
        assert_eq!(loaded_symbol("libc.so.6", c"no_such_function"), None);
        assert_eq!(loaded_symbol("no-such-library", c"dlsym"), None);
        let getenv = loaded_symbol("libc.so.6", c"getenv").map(|found| found.as_ptr() as usize);
        assert_eq!(getenv, Some(libc::getenv as *const () as usize));
    }
}
