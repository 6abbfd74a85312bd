//! The modules that the unwinder knows.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use framehop::{ExplicitModuleSectionInfo, MustNotAllocateDuringUnwind, Unwinder, UnwinderNative};

use crate::elf::UnwindTables;
use crate::python::Symbols;
use crate::snapshot::{Changes, Entry, Snapshot};

/// A loaded library or the executable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Module {
    /// The address of its first loaded byte.
    pub start: u64,
    /// The address behind its last.
    pub end: u64,
    /// What must be taken from an address to get the one that the file speaks of.
    pub bias: u64,
    /// The file it was loaded from.
    pub path: PathBuf,
    /// The linker's build id; empty where it has none.
    pub build_id: Box<[u8]>,
}

impl Module {
    /// Whether an address lies in it.
    #[must_use]
    pub fn contains(&self, address: u64) -> bool {
        self.start <= address && address < self.end
    }
}

pub(crate) type NativeUnwinder = UnwinderNative<&'static [u8], MustNotAllocateDuringUnwind>;

/// What was loaded at one time. Never changed: a later time has a set of its own.
#[derive(Default)]
pub(crate) struct ModuleSet {
    pub(crate) changes: Changes,
    /// By address.
    pub(crate) modules: Vec<Arc<Module>>,
    pub(crate) unwinder: NativeUnwinder,
}

/// Whether a thread's modules are those that are loaded now.
pub(crate) enum Renewal {
    /// They are.
    Same,
    /// These are.
    New(Arc<ModuleSet>),
    /// Others are, and another thread is finding out which.
    Busy,
}

/// The Python interpreter's functions, with the range of the module that has them.
pub(crate) type FoundPython = Option<(std::ops::Range<u64>, Symbols)>;

impl ModuleSet {
    /// The set as of now. What did not change is taken over: framehop counts each module that is
    /// added in 16 bits, and takes up to its rule cache only what was learned at the same count.
    pub(crate) fn renewed(&self) -> (Self, FoundPython) {
        let snapshot = Snapshot::take();
        let mut unwinder = self.unwinder.clone();
        let fresh: Vec<_> = snapshot.entries.iter().map(|e| self.take_over(&snapshot, e)).collect();
        for old in &self.modules {
            if !fresh.iter().any(|module| Arc::ptr_eq(module, old)) {
                unwinder.remove_module(old.start);
            }
        }
        for (entry, module) in snapshot.entries.iter().zip(&fresh) {
            if self.find(module.start).is_none_or(|old| !Arc::ptr_eq(old, module)) {
                unwinder.add_module(unwind_module(entry));
            }
        }
        let python = snapshot.python.map(|(index, symbols)| {
            (snapshot.entries[index].start..snapshot.entries[index].end, symbols)
        });
        let mut modules = fresh;
        modules.sort_by_key(|module| module.start);
        (Self { changes: snapshot.changes, modules, unwinder }, python)
    }

    /// The module at an address.
    pub(crate) fn find(&self, address: u64) -> Option<&Arc<Module>> {
        let behind = self.modules.partition_point(|module| module.start <= address);
        let module = self.modules.get(behind.checked_sub(1)?)?;
        module.contains(address).then_some(module)
    }

    /// The module that is already known, if it is the same one.
    fn take_over(&self, snapshot: &Snapshot, entry: &Entry) -> Arc<Module> {
        let build_id = &entry.build_id[..usize::from(entry.build_id_length)];
        let name = snapshot.name(entry);
        let same = |old: &&Arc<Module>| {
            (old.start, old.end, old.bias) == (entry.start, entry.end, entry.bias)
                && *old.build_id == *build_id
                && (name.is_empty() || old.path.ends_with(plain(name)))
        };
        self.find(entry.start).filter(same).cloned().unwrap_or_else(|| {
            Arc::new(Module {
                start: entry.start,
                end: entry.end,
                bias: entry.bias,
                path: path(name),
                build_id: build_id.into(),
            })
        })
    }
}

/// The file behind the loader's name for it, which is empty for the executable and may be relative.
fn path(name: &[u8]) -> PathBuf {
    let name = plain(name);
    if name.as_os_str().is_empty() {
        return std::fs::read_link("/proc/self/exe").unwrap_or_default();
    }
    let file = std::env::current_dir().map(|folder| folder.join(name)).unwrap_or_default();
    // A name without a folder, as the vDSO's, is no file here.
    if file.exists() { file } else { name.to_path_buf() }
}

fn plain(name: &[u8]) -> &Path {
    Path::new(OsStr::from_bytes(name.strip_prefix(b"./").unwrap_or(name)))
}

fn unwind_module(entry: &Entry) -> framehop::Module<&'static [u8]> {
    let sections =
        entry.tables.as_ref().map_or_else(Default::default, |tables| sections(entry, tables));
    framehop::Module::new(String::new(), entry.start..entry.end, entry.bias, sections)
}

fn sections(entry: &Entry, tables: &UnwindTables) -> ExplicitModuleSectionInfo<&'static [u8]> {
    let stated = |range: &std::ops::Range<u64>| {
        range.start.wrapping_sub(entry.bias)..range.end.wrapping_sub(entry.bias)
    };
    let data = |range: &std::ops::Range<u64>| {
        let length = (range.end - range.start) as usize;
        // SAFETY: loaded read-only bytes of a module. They are read only to learn the rule of an
        // address in a live frame of the calling thread, after the loader's counters said that the
        // set is current: so the module is loaded, and stays so while its code is on the stack.
        unsafe { std::slice::from_raw_parts(range.start as *const u8, length) }
    };
    ExplicitModuleSectionInfo {
        eh_frame_svma: Some(stated(&tables.frames)),
        eh_frame: Some(data(&tables.frames)),
        eh_frame_hdr_svma: Some(stated(&tables.header)),
        eh_frame_hdr: Some(data(&tables.header)),
        ..Default::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_did_not_change_is_taken_over() {
        let (first, _) = ModuleSet::default().renewed();
        let (second, _) = first.renewed();
        assert!(first.modules.len() > 2);
        assert!(first.modules.iter().zip(&second.modules).all(|(a, b)| Arc::ptr_eq(a, b)));
    }

    #[test]
    fn an_address_finds_its_module() {
        let (set, python) = ModuleSet::default().renewed();
        assert!(python.is_none(), "no interpreter in this program");
        let own = path as fn(&[u8]) -> PathBuf as usize as u64;
        let module = set.find(own).expect("this program");
        assert_eq!(Some(&module.path), std::env::current_exe().ok().as_ref());
        assert_eq!(
            path(b"./src/lib.rs"),
            std::env::current_dir().expect("here").join("src/lib.rs")
        );
        assert_eq!(path(b"linux-vdso.so.1"), Path::new("linux-vdso.so.1"));
        assert!(set.find(16).is_none());
        assert!(set.find(u64::MAX).is_none());
    }
}
