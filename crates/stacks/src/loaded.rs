//! What is loaded into the process, as all threads see it.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};
use std::time::Duration;

use crate::modules::{FoundPython, Module, ModuleSet, Renewal};
use crate::python::Symbols;
use crate::snapshot;

/// How often a lock is tried before it is given up.
const LOCK_TRIES: u32 = 64;
/// How often that is done, with a rest after each, where a stack depends on it: another thread is
/// finding out what is loaded, and the machine may let it wait.
const RENEWAL_ROUNDS: u32 = 1000;
const REST: Duration = Duration::from_micros(100);

/// The loaded modules, and which of them are the interpreter and our own library.
pub(crate) struct LoadedModules {
    shared: Mutex<Arc<ModuleSet>>,
    generation: AtomicU64,
    own: Range<u64>,
    /// The interpreter's module, once it is loaded.
    found: OnceLock<(Range<u64>, Symbols)>,
    with_python: bool,
}

impl LoadedModules {
    /// Those of now. Without Python, the interpreter is a module like any other.
    pub(crate) fn find(with_python: bool) -> Self {
        let (set, python) = ModuleSet::default().renewed();
        let loaded = Self {
            own: own_library(&set),
            shared: Mutex::new(Arc::new(set)),
            generation: AtomicU64::new(1),
            found: OnceLock::new(),
            with_python,
        };
        loaded.meet_python(python);
        loaded
    }

    /// Those of the last look. None while another thread is looking.
    pub(crate) fn modules(&self) -> Option<Vec<Arc<Module>>> {
        self.lock().map(|set| set.modules.clone())
    }

    /// Grows whenever [`Self::modules`] may have changed.
    pub(crate) fn generation(&self) -> u64 {
        self.generation.load(Ordering::Acquire)
    }

    /// Looks at the loader's list again if it has changed.
    pub(crate) fn refresh(&self) {
        if let Some(set) = self.lock().map(|set| set.clone()) {
            self.newer_than(&set);
        }
    }

    /// The set that all threads share. Waited for a little, since it is held for microseconds; not
    /// for longer, since a signal may have come upon its holder, and a fork may have left it behind.
    fn lock(&self) -> Option<MutexGuard<'_, Arc<ModuleSet>>> {
        (0..LOCK_TRIES).find_map(|round| {
            if round % 16 == 15 {
                std::thread::yield_now();
            }
            self.shared.try_lock().ok()
        })
    }

    fn lock_patiently(&self) -> Option<MutexGuard<'_, Arc<ModuleSet>>> {
        (0..RENEWAL_ROUNDS).find_map(|round| {
            if round > 0 {
                std::thread::sleep(REST);
            }
            self.lock()
        })
    }

    /// The modules as of now, if they are not those of `seen`. Asking the loader's counters takes
    /// some 30 ns. A thread makes no set for itself alone: nobody could say what its frames mean.
    pub(crate) fn newer_than(&self, seen: &ModuleSet) -> Renewal {
        let now = snapshot::changes();
        if now == seen.changes {
            return Renewal::Same;
        }
        let Some(mut set) = self.lock_patiently() else { return Renewal::Busy };
        if set.changes != now {
            let (renewed, python) = set.renewed();
            *set = Arc::new(renewed);
            self.generation.fetch_add(1, Ordering::Release);
            self.meet_python(python);
        }
        Renewal::New(set.clone())
    }

    fn meet_python(&self, found: FoundPython) {
        if let Some(found) = found.filter(|_| self.with_python) {
            let _ = self.found.set(found);
        }
    }

    /// Where the interpreter's code lies; nowhere before it is loaded.
    pub(crate) fn python_range(&self) -> Range<u64> {
        self.found.get().map_or(0..0, |(range, _)| range.clone())
    }

    /// The interpreter's functions, once it is loaded.
    pub(crate) fn python_symbols(&self) -> Option<Symbols> {
        self.found.get().map(|(_, symbols)| *symbols)
    }

    /// Whether an address lies in our own library.
    pub(crate) fn is_own(&self, address: u64) -> bool {
        self.own.contains(&address)
    }
}

/// The range of the library that this code is part of; empty where it is part of the executable.
fn own_library(set: &ModuleSet) -> Range<u64> {
    let here = own_library as fn(&ModuleSet) -> Range<u64> as usize as u64;
    let executable = std::fs::read_link("/proc/self/exe").ok();
    let own = set.find(here).filter(|module| Some(&module.path) != executable.as_ref());
    own.map_or(0..0, |module| module.start..module.end)
}
