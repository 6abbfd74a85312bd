//! The call stack of the calling thread, native and Python frames, cheap enough to leave on.
//!
//! Native frames come from framehop over the unwind tables that the loader has mapped; at the first
//! frame of the Python interpreter the Python frames of the thread follow instead of the
//! interpreter's own. Nothing is allocated once a thread has captured its first stack and the
//! modules are known; nothing here waits without end for a lock of ours, takes the GIL, or runs Python
//! code.

mod elf;
mod fork;
mod memory;
mod modules;
mod native;
mod python;
mod registers;
mod snapshot;
mod symbol;

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};
use std::time::Duration;

pub use fork::{after_fork_in_child, after_fork_in_parent, before_fork};
pub use modules::Module;
pub use native::end_of_thread;
pub use python::PythonFrame;
pub use symbol::loaded_symbol;

use modules::{FoundPython, ModuleSet, Renewal};
use native::End;
use python::{Python, Symbols};

/// The most frames of a stack.
pub const MAX_FRAMES: usize = 128;

/// A frame as it is captured: a number or two, to be named later.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Raw {
    /// An address inside the call instruction, as symbolizers want it.
    Native(u64),
    /// A Python code object and the byte offset of the instruction in it. Its name must be asked
    /// with [`Capturer::python_frame`] before the frame is left.
    Python {
        /// The code object's address.
        code: usize,
        /// Bytes from the start of its instructions, or −1 before the first.
        position: i32,
    },
}

/// How often a lock is tried before it is given up.
const LOCK_TRIES: u32 = 64;
/// How often that is done, with a rest after each, where a stack depends on it: another thread is
/// finding out what is loaded, and the machine may let it wait.
const RENEWAL_ROUNDS: u32 = 1000;
const REST: Duration = Duration::from_micros(100);

/// Captures stacks. One per process, shared by its threads.
pub struct Capturer {
    shared: Mutex<Arc<ModuleSet>>,
    generation: AtomicU64,
    own: Range<u64>,
    /// The interpreter's module, once it is loaded.
    found: OnceLock<(Range<u64>, Symbols)>,
    /// The interpreter, once its code was met on a stack.
    python: OnceLock<Python>,
    with_python: bool,
}

impl Capturer {
    /// A capturer of native and Python frames.
    #[must_use]
    pub fn new() -> Self {
        Self::with(true)
    }

    /// A capturer that shows the interpreter's own native frames instead of Python's.
    #[must_use]
    pub fn native_only() -> Self {
        Self::with(false)
    }

    fn with(with_python: bool) -> Self {
        let (set, python) = ModuleSet::default().renewed();
        let capturer = Self {
            own: own_library(&set),
            shared: Mutex::new(Arc::new(set)),
            generation: AtomicU64::new(1),
            found: OnceLock::new(),
            python: OnceLock::new(),
            with_python,
        };
        capturer.meet_python(python);
        capturer
    }

    /// Writes the stack of the calling thread, innermost frame first, and returns how many frames
    /// it has; none inside another capture, while the thread ends, and where another thread is just
    /// finding out what is loaded: [`Capturer::modules`] has the modules of every frame.
    ///
    /// The leading frames of the library that this crate is part of are left out.
    #[inline(never)]
    pub fn capture(&self, out: &mut [Raw; MAX_FRAMES]) -> usize {
        let (ip, regs) = registers::here();
        let mut frames = Frames { room: out, count: 0 };
        native::with_state(self, regs.sp(), |state| {
            let end = native::walk(self, state, ip, regs, &mut frames, true);
            if end == End::Outermost || self.push_python(&mut frames, end) {
                return;
            }
            if end == End::Python {
                frames.count = 0;
                native::walk(self, state, ip, regs, &mut frames, false);
            }
        });
        frames.count
    }

    /// The names behind a [`Raw::Python`] frame, to be asked once for each distinct one while the
    /// frame is on the calling thread's stack. The code object is then kept alive, so that no other
    /// can come to its address.
    #[must_use]
    pub fn python_frame(&self, code: usize, position: i32) -> Option<PythonFrame> {
        self.python.get()?.name(code, position)
    }

    /// The modules that were loaded when last looked: at least those of all native frames returned
    /// so far that lie in any. None while another thread is looking.
    #[must_use]
    pub fn modules(&self) -> Option<Vec<Arc<Module>>> {
        self.lock().map(|set| set.modules.clone())
    }

    /// Grows whenever [`Capturer::modules`] may have changed.
    #[must_use]
    pub fn generation(&self) -> u64 {
        self.generation.load(Ordering::Acquire)
    }

    /// Looks at the loader's list again if it has changed, as each capture does by itself.
    pub fn refresh(&self) {
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
    fn newer_than(&self, seen: &ModuleSet) -> Renewal {
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

    fn python_range(&self) -> Range<u64> {
        self.found.get().map_or(0..0, |(range, _)| range.clone())
    }

    /// The interpreter. Nothing of it may be called or read before its code is on a stack: the
    /// loader lists a library before it has relocated it.
    fn python_on_stack(&self, end: End) -> Option<&Python> {
        if end == End::Python && self.python.get().is_none() {
            let _ = self.python.set(Python::new(self.found.get()?.1));
        }
        self.python.get()
    }

    fn is_own(&self, address: u64) -> bool {
        self.own.contains(&address)
    }

    /// Appends the thread's Python frames. Where the native walk did not get to the interpreter,
    /// half the room is theirs. Whether there were any.
    fn push_python(&self, frames: &mut Frames<'_>, end: End) -> bool {
        let Some(python) = self.python_on_stack(end) else { return false };
        let native = frames.count;
        if end == End::Lost {
            frames.count = native.min(MAX_FRAMES / 2);
        }
        let start = frames.count;
        python.push_frames(frames);
        let any = frames.count > start;
        if !any {
            frames.count = native;
        }
        any
    }
}

impl Default for Capturer {
    fn default() -> Self {
        Self::new()
    }
}

/// The range of the library that this code is part of; empty where it is part of the executable.
fn own_library(set: &ModuleSet) -> Range<u64> {
    let here = own_library as fn(&ModuleSet) -> Range<u64> as usize as u64;
    let executable = std::fs::read_link("/proc/self/exe").ok();
    let own = set.find(here).filter(|module| Some(&module.path) != executable.as_ref());
    own.map_or(0..0, |module| module.start..module.end)
}

/// The frames written so far.
struct Frames<'a> {
    room: &'a mut [Raw; MAX_FRAMES],
    count: usize,
}

impl Frames<'_> {
    /// Whether there was room.
    #[inline]
    fn push(&mut self, frame: Raw) -> bool {
        let Some(slot) = self.room.get_mut(self.count) else { return false };
        *slot = frame;
        self.count += 1;
        true
    }

    fn pop(&mut self) {
        self.count = self.count.saturating_sub(1);
    }
}
