//! The part of the recording that is this process's, and whether it is still written.

use std::{
    fmt::{self, Write},
    ops::Deref,
    ptr,
    sync::atomic::{
        AtomicBool, AtomicPtr,
        Ordering::{AcqRel, Acquire, Relaxed, Release},
    },
};

use whyoom_recording::{ForkGuard, Options, Part, Stop};

use super::standard_error;

/// Why recording stops where the process has no memory left, rather than the program.
pub(super) const NO_MEMORY: &str = "out of host memory for the recorder's bookkeeping";

static ON: AtomicBool = AtomicBool::new(false);
static CURRENT: AtomicPtr<OwnPart> = AtomicPtr::new(ptr::null_mut());

/// The part of one process.
pub(crate) struct OwnPart {
    part: Part,
    same: ForkGuard,
}

impl OwnPart {
    pub(super) fn create(folder: &std::path::Path, options: Options) -> Result<Self, Stop> {
        let part = Part::create(folder, options)?;
        Ok(Self { part, same: ForkGuard::new()? })
    }

    /// Makes it the one of this process.
    pub(super) fn make_current(&'static self) {
        CURRENT.store(ptr::from_ref(self).cast_mut(), Release);
    }

    /// Whether it is the one of this process.
    pub(super) fn is_current(part: *const Self) -> bool {
        known().is_some_and(|known| ptr::eq(known, part))
    }

    /// Whether it was made by this process: in a forked child it is the parent's, which is not ours to
    /// write to.
    #[inline]
    pub(super) fn is_of_this_process(&self) -> bool {
        self.same.is_same_process()
    }
}

impl Deref for OwnPart {
    type Target = Part;

    #[inline]
    fn deref(&self) -> &Part {
        &self.part
    }
}

/// From now on calls are recorded.
pub(super) fn turn_on() {
    ON.store(true, Release);
}

/// Whether calls are recorded.
#[inline]
pub(crate) fn is_on() -> bool {
    ON.load(Relaxed)
}

fn known() -> Option<&'static OwnPart> {
    // SAFETY: null or from `make_current`, which takes only what is never given back.
    let current = unsafe { CURRENT.load(Acquire).as_ref() };
    current.filter(|part| part.is_of_this_process())
}

/// Ends recording in this process and says why, once.
#[cold]
pub(crate) fn stop(reason: &dyn fmt::Display) {
    if !ON.swap(false, AcqRel) {
        return;
    }
    let mut line = String::new();
    let _ = writeln!(line, "whyoom: recording stopped: {reason}; the program continues");
    if let Some(part) = known() {
        part.stopped(&reason.to_string());
    }
    standard_error::say(&line);
}

/// Ends recording where the recorder has no memory left. Whoever asks for memory may hold any of our
/// locks, so that only what takes none is done.
#[cold]
pub(crate) fn out_of_memory() {
    if !ON.swap(false, AcqRel) {
        return;
    }
    if let Some(part) = known() {
        part.stopped(NO_MEMORY);
    }
    for piece in ["whyoom: recording stopped: ", NO_MEMORY, "; the program continues\n"] {
        standard_error::say(piece);
    }
}
