//! What the loader has loaded, copied under its lock.
//!
//! `dl_iterate_phdr` holds glibc's `dl_load_write_lock`, which the loader itself takes only around
//! changes of its list, never while constructors run or a library is searched. So a hook inside a
//! constructor finds it free, and the loader never holds it and waits for a thread that is inside a
//! hook. Our callback neither allocates nor calls anything that could wait: it copies into room that
//! was made before, and asks for more room where that was too small.
//!
//! The callback of another may wait: threadpoolctl's is Python and takes the GIL under the lock. It
//! waits for ever for a thread that holds the GIL and is captured at that time, as it does without
//! us for one that imports an extension then. The lock cannot be tried, so this is not averted here.

use std::ffi::{CStr, c_int, c_void};

use crate::elf::{BUILD_ID_BYTES, Image, UnwindTables};
use crate::fork;
use crate::python::Symbols;

/// How often the loader has added and removed modules.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Changes {
    adds: u64,
    removals: u64,
}

/// One module, copied.
#[derive(Clone)]
pub(crate) struct Entry {
    pub(crate) bias: u64,
    pub(crate) start: u64,
    pub(crate) end: u64,
    pub(crate) tables: Option<UnwindTables>,
    pub(crate) build_id: [u8; BUILD_ID_BYTES],
    pub(crate) build_id_length: u8,
    name: (u32, u32),
}

/// All modules in the loader's order: the executable first.
#[derive(Default)]
pub(crate) struct Snapshot {
    pub(crate) changes: Changes,
    pub(crate) entries: Vec<Entry>,
    /// The Python interpreter's functions, from the first module that has them.
    pub(crate) python: Option<(usize, Symbols)>,
    names: Vec<u8>,
    short: bool,
}

impl Snapshot {
    /// What is loaded now.
    pub(crate) fn take() -> Self {
        let mut room = 256;
        loop {
            let mut snapshot = Self {
                entries: Vec::with_capacity(room),
                names: Vec::with_capacity(room * 128),
                ..Self::default()
            };
            iterate(copy_entry, &mut snapshot);
            if !snapshot.short {
                return snapshot;
            }
            room *= 2;
        }
    }

    /// A module's path as the loader knows it; empty for the executable.
    pub(crate) fn name(&self, entry: &Entry) -> &[u8] {
        &self.names[entry.name.0 as usize..entry.name.1 as usize]
    }
}

/// The loader's counters alone: one look at its first module.
pub(crate) fn changes() -> Changes {
    let mut changes = Changes::default();
    iterate(copy_changes, &mut changes);
    changes
}

pub(crate) type Callback =
    unsafe extern "C" fn(*mut libc::dl_phdr_info, usize, *mut c_void) -> c_int;

/// Calls back for each loaded module, under the loader's lock.
pub(crate) fn iterate<T>(callback: Callback, into: &mut T) {
    let into = std::ptr::from_mut(into).cast();
    // SAFETY: each callback is passed the type that it casts back to, for the time of the call.
    fork::outside_forks(|| unsafe { libc::dl_iterate_phdr(Some(callback), into) });
}

/// # Safety
/// `info` is the loader's, `into` is a `Changes`.
unsafe extern "C" fn copy_changes(
    info: *mut libc::dl_phdr_info,
    _size: usize,
    into: *mut c_void,
) -> c_int {
    // SAFETY: as promised by the caller.
    let (info, changes) = unsafe { (&*info, &mut *into.cast::<Changes>()) };
    *changes = Changes { adds: info.dlpi_adds, removals: info.dlpi_subs };
    1
}

/// # Safety
/// `info` is the loader's, `into` is a `Snapshot`.
unsafe extern "C" fn copy_entry(
    info: *mut libc::dl_phdr_info,
    _size: usize,
    into: *mut c_void,
) -> c_int {
    // SAFETY: as promised by the caller.
    let (info, snapshot) = unsafe { (&*info, &mut *into.cast::<Snapshot>()) };
    snapshot.changes = Changes { adds: info.dlpi_adds, removals: info.dlpi_subs };
    let name = if info.dlpi_name.is_null() {
        &[]
    } else {
        // SAFETY: the loader's names end with 0 and live while its lock is held.
        unsafe { CStr::from_ptr(info.dlpi_name) }.to_bytes()
    };
    if snapshot.entries.len() == snapshot.entries.capacity()
        || snapshot.names.capacity() - snapshot.names.len() < name.len()
    {
        snapshot.short = true;
        return 1;
    }
    // SAFETY: the loader lists the headers of modules that are loaded while its lock is held.
    let image = unsafe {
        let headers = std::slice::from_raw_parts(info.dlpi_phdr, usize::from(info.dlpi_phnum));
        Image::new(info.dlpi_addr, headers)
    };
    let Some(range) = image.range() else { return 0 };
    if snapshot.python.is_none() {
        let symbols = image.exports().and_then(|exports| Symbols::find(&exports));
        snapshot.python = symbols.map(|symbols| (snapshot.entries.len(), symbols));
    }
    let start = snapshot.names.len() as u32;
    snapshot.names.extend_from_slice(name);
    let (build_id, build_id_length) = image.build_id();
    snapshot.entries.push(Entry {
        bias: info.dlpi_addr,
        start: range.start,
        end: range.end,
        tables: image.unwind_tables(),
        build_id,
        build_id_length,
        name: (start, snapshot.names.len() as u32),
    });
    0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_program_and_its_libraries_are_seen() {
        let snapshot = Snapshot::take();
        let own = changes as fn() -> Changes as usize as u64;
        let executable = &snapshot.entries[0];
        assert!(executable.start <= own && own < executable.end);
        assert!(executable.tables.is_some(), "Rust writes unwind tables");
        assert_eq!(snapshot.name(executable), b"");
        let libc = snapshot.entries.iter().find(|e| snapshot.name(e).ends_with(b"libc.so.6"));
        assert!(libc.is_some_and(|libc| libc.tables.is_some() && libc.build_id_length == 20));
        assert_eq!(snapshot.changes, changes());
    }
}
