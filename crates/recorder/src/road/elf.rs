//! A symbol of a loaded library, read from its own tables: for what `dlsym` cannot be asked, because
//! it is `dlsym` itself.

use std::{
    ffi::{CStr, c_char, c_int, c_void},
    ptr,
};

/// Entries of the dynamic section that lead to the symbols.
const DT_NULL: i64 = 0;
const DT_STRTAB: i64 = 5;
const DT_SYMTAB: i64 = 6;
const DT_GNU_HASH: i64 = 0x6fff_fef5;

/// One entry of the dynamic section.
#[repr(C)]
struct Dynamic {
    tag: i64,
    value: u64,
}

/// Where a library keeps its symbols.
#[derive(Clone, Copy)]
struct Tables {
    base: usize,
    strings: *const c_char,
    symbols: *const libc::Elf64_Sym,
    hash: *const u32,
}

struct Search<'a> {
    library: &'a [u8],
    symbol: &'a CStr,
    found: *mut c_void,
}

/// The address of a function in the loaded library whose file name begins like that.
pub(super) fn find(library: &str, symbol: &CStr) -> *mut c_void {
    let mut search = Search { library: library.as_bytes(), symbol, found: ptr::null_mut() };
    // SAFETY: the callback gets the pointer that it is given here, which lives through the call.
    unsafe { libc::dl_iterate_phdr(Some(visit), (&raw mut search).cast()) };
    search.found
}

unsafe extern "C" fn visit(
    info: *mut libc::dl_phdr_info,
    _size: usize,
    search: *mut c_void,
) -> c_int {
    // SAFETY: `find` passes a `Search`, and the loader a description of a loaded object; both live
    // through this call.
    let (search, info) = unsafe { (&mut *search.cast::<Search<'_>>(), &*info) };
    if info.dlpi_name.is_null() {
        return 0;
    }
    // SAFETY: names of loaded objects end with a zero.
    let path = unsafe { CStr::from_ptr(info.dlpi_name) }.to_bytes();
    let name = path.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
    if !name.starts_with(search.library) {
        return 0;
    }
    if let Some(tables) = tables(info) {
        search.found = look_up(&tables, search.symbol).unwrap_or(ptr::null_mut());
    }
    c_int::from(!search.found.is_null())
}

fn tables(info: &libc::dl_phdr_info) -> Option<Tables> {
    // SAFETY: the loader's description says how many headers there are, and where.
    let headers = unsafe { std::slice::from_raw_parts(info.dlpi_phdr, info.dlpi_phnum.into()) };
    let base = info.dlpi_addr as usize;
    let dynamic = headers.iter().find(|header| header.p_type == libc::PT_DYNAMIC)?;
    let mut entry = (base + dynamic.p_vaddr as usize) as *const Dynamic;
    let mut tables = Tables { base, strings: ptr::null(), symbols: ptr::null(), hash: ptr::null() };
    loop {
        // SAFETY: the dynamic section of a loaded object is readable, and ends with a null entry.
        let Dynamic { tag, value } = unsafe { ptr::read(entry) };
        // glibc has relocated these in place; other loaders leave them relative to the base.
        let place = if (value as usize) < base { base + value as usize } else { value as usize };
        match tag {
            DT_NULL => break,
            DT_STRTAB => tables.strings = place as *const c_char,
            DT_SYMTAB => tables.symbols = place as *const libc::Elf64_Sym,
            DT_GNU_HASH => tables.hash = place as *const u32,
            _ => {}
        }
        // SAFETY: the null entry that ends the section has not come yet.
        entry = unsafe { entry.add(1) };
    }
    let whole = !tables.strings.is_null() && !tables.symbols.is_null() && !tables.hash.is_null();
    whole.then_some(tables)
}

/// The hash of the GNU table: Bernstein's, times 33.
fn gnu_hash(name: &CStr) -> u32 {
    let step = |hash: u32, byte: &u8| hash.wrapping_mul(33).wrapping_add((*byte).into());
    name.to_bytes().iter().fold(5381, step)
}

fn look_up(tables: &Tables, name: &CStr) -> Option<*mut c_void> {
    let hash = gnu_hash(name);
    // SAFETY: the GNU hash table begins with these four words, then the filter's 64-bit words, the
    // buckets, and a chain word for each symbol from `first` on, as the format lays down.
    let word = |index: usize| unsafe { *tables.hash.add(index) };
    let (buckets, first, filter) = (word(0), word(1), word(2) as usize);
    if buckets == 0 {
        return None;
    }
    let bucket_words = 4 + filter * 2;
    let chain_words = bucket_words + buckets as usize;
    let mut index = word(bucket_words + (hash % buckets) as usize);
    if index < first {
        return None;
    }
    loop {
        let link = word(chain_words + (index - first) as usize);
        if (link ^ hash) & !1 == 0
            && let Some(address) = symbol(tables, index as usize, name)
        {
            return Some(address);
        }
        if link & 1 != 0 {
            return None;
        }
        index += 1;
    }
}

fn symbol(tables: &Tables, index: usize, name: &CStr) -> Option<*mut c_void> {
    // SAFETY: the hash table names symbols of the table, and each its name in the strings.
    let (symbol, text) = unsafe {
        let symbol = &*tables.symbols.add(index);
        (symbol, CStr::from_ptr(tables.strings.add(symbol.st_name as usize)))
    };
    let defined = symbol.st_shndx != 0 && symbol.st_value != 0;
    // An indirect function (type 10) has a resolver at its address, not the function.
    let plain = symbol.st_info & 0xf == 2;
    (defined && plain && text == name).then(|| (tables.base + symbol.st_value as usize) as *mut _)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_finds_what_the_loader_finds() {
        let found = find("libc.so.6", c"dlvsym");
        let libc = if found.is_null() { find("libdl.so.2", c"dlvsym") } else { found };
        assert!(!libc.is_null());
        assert!(find("libc.so.6", c"no_such_function").is_null());
        assert!(find("no-such-library", c"dlsym").is_null());
        assert_eq!(find("libc.so.6", c"getenv") as usize, libc::getenv as *const () as usize);
    }
}
