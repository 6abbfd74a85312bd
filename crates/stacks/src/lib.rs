//! The call stack of the calling thread, native and Python frames, cheap enough to leave on.
//!
//! Native frames come from framehop over the unwind tables that the loader has mapped; at the first
//! frame of the Python interpreter the Python frames of the thread follow instead of the
//! interpreter's own. Nothing is allocated once a thread has captured its first stack and the
//! modules are known; nothing here waits without end for a lock of ours, takes the GIL, or runs Python
//! code.

mod elf;
mod fingerprint;
mod fork;
mod frames;
mod known_walks;
mod loaded;
mod memory;
mod modules;
mod native;
mod python;
mod reads;
mod registers;
mod snapshot;
mod symbol;

use std::sync::{Arc, OnceLock};

pub use fingerprint::Fingerprint;
pub use fork::{after_fork_in_child, after_fork_in_parent, before_fork};
pub use frames::{MAX_FRAMES, Raw};
pub use known_walks::code_may_go;
pub use modules::Module;
pub use native::end_of_thread;
pub use python::PythonFrame;
pub use symbol::loaded_symbol;

use frames::{End, Frames};
use loaded::LoadedModules;
use python::Python;

/// Captures stacks. One per process, shared by its threads.
pub struct Capturer {
    loaded: LoadedModules,
    /// The interpreter, once its code was met on a stack.
    python: OnceLock<Python>,
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
        Self { loaded: LoadedModules::find(with_python), python: OnceLock::new() }
    }

    /// Writes the stack of the calling thread, innermost frame first, and returns how many frames
    /// it has; none inside another capture, while the thread ends, and where another thread is just
    /// finding out what is loaded: [`Capturer::modules`] has the modules of every frame.
    ///
    /// The leading frames of the library that this crate is part of are left out.
    #[inline(never)]
    pub fn capture(&self, out: &mut [Raw; MAX_FRAMES]) -> usize {
        let (ip, start) = registers::here();
        let mut frames = Frames { room: out, count: 0 };
        native::with_state(start.sp, |state| {
            if !state.keep_up(&self.loaded) {
                return;
            }
            let end = native::walk(&self.loaded, state, ip, start, &mut frames, true);
            if end == End::Outermost || self.push_python(&mut frames, end) {
                return;
            }
            if end == End::Python {
                frames.count = 0;
                native::walk(&self.loaded, state, ip, start, &mut frames, false);
            }
        });
        frames.count
    }

    /// The fingerprint of the stack that [`Capturer::capture`] would write, at a fraction of its cost for
    /// a stack whose native frames the thread has seen before. None where only a capture can tell.
    ///
    /// Needs [`code_may_go`] to be called by whoever unloads libraries.
    #[inline(never)]
    pub fn fingerprint(&self) -> Option<Fingerprint> {
        let (ip, start) = registers::here();
        let find = |state: &mut _| native::find(&self.loaded, state, ip, start);
        let found = native::with_state(start.sp, find)??;
        match found.end {
            End::Outermost => Some(found.print),
            // The interpreter is known from the first capture on.
            End::Python => {
                self.python.get()?.fingerprint(found.print, MAX_FRAMES.checked_sub(found.frames)?)
            }
            End::Lost => None,
        }
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
        self.loaded.modules()
    }

    /// Grows whenever [`Capturer::modules`] may have changed.
    #[must_use]
    pub fn generation(&self) -> u64 {
        self.loaded.generation()
    }

    /// Looks at the loader's list again if it has changed, as each capture does by itself.
    pub fn refresh(&self) {
        self.loaded.refresh();
    }

    /// The interpreter. Nothing of it may be called or read before its code is on a stack: the
    /// loader lists a library before it has relocated it.
    fn python_on_stack(&self, end: End) -> Option<&Python> {
        if end == End::Python && self.python.get().is_none() {
            let _ = self.python.set(Python::new(self.loaded.python_symbols()?));
        }
        self.python.get()
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
