//! A process's part of a recording.

use std::{
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
};

use rustix::thread::futex::{self, Flags};

use super::{Options, Stop, shared::Shared};
use crate::{definition::Definition, live::LiveTotals, watcher_sync};

/// A process's part of a recording. It is made once; threads take a [`Lease`](super::Lease) each.
///
/// A forked child inherits it and cannot write to it: every call returns [`Stop::Forked`] there, and
/// dropping it leaves the parent's alone. It makes a part of its own instead.
#[derive(Debug)]
pub struct Part {
    shared: Arc<Shared>,
}

impl Part {
    /// A new part for this process in a folder that exists.
    ///
    /// # Errors
    /// Where its file cannot be made.
    pub fn create(folder: &Path, options: Options) -> Result<Self, Stop> {
        Ok(Self { shared: Arc::new(Shared::create(folder, options)?) })
    }

    /// Writes what an id stands for. It is in the recording when this returns; events that name the
    /// id come after.
    ///
    /// # Errors
    /// Where the disk takes no more.
    pub fn define(&self, definition: Definition<'_>) -> Result<(), Stop> {
        self.check()?;
        self.shared.define(&definition)
    }

    /// Whether another definition has room: ring mode keeps them all, and so has only so many. Whoever goes on without
    /// one defines something that stands for all such, and counts each with [`Self::stood_in`].
    #[must_use]
    #[inline]
    pub fn has_room(&self) -> bool {
        self.shared.has_room()
    }

    /// Counts an event that has a stand-in for its stack.
    pub fn stood_in(&self) {
        if self.check().is_ok() {
            self.shared.state().stand_ins.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// What the process holds now, for the recorder to keep up to date and for others to watch.
    #[must_use]
    pub fn live(&self) -> &LiveTotals {
        &self.shared.state().totals
    }

    /// Counts a failed allocation and wakes whoever waits for one ([`crate::LiveView::wait`]). Where
    /// somebody looks at failures, this returns when they have looked: a moment later the process may have
    /// ended, and all that it started.
    pub fn failed(&self) {
        if self.check().is_ok() {
            self.call(&self.live().failures);
        }
    }

    /// Lets whoever looks at failures look now, though nothing failed, and returns when they have.
    pub fn ask_for_look(&self) {
        if self.check().is_ok() {
            self.call(&self.shared.state().asked);
        }
    }

    /// Counts a call, wakes whoever waits for one, and waits for them.
    fn call(&self, count: &AtomicU32) {
        let LiveTotals { failures, watcher_sync, .. } = self.live();
        let before = watcher_sync.load(Ordering::Acquire);
        count.fetch_add(1, Ordering::Release);
        let _ = futex::wake(failures, Flags::empty(), i32::MAX.cast_unsigned());
        watcher_sync::wait(watcher_sync, before);
    }

    /// Keeps why recording stopped where a reader finds it. The first reason stays; a [`Stop`] that
    /// this crate returned was kept already.
    pub fn stopped(&self, reason: &str) {
        if self.check().is_ok() {
            self.shared.state().stop(format_args!("{reason}"));
        }
    }

    /// The process ends in order. Threads that still run may go on recording.
    pub fn end(&self) {
        self.shared.end();
    }

    /// Leaves the part as it is, open and mapped, for as long as the process lives: what a forked
    /// child does with its parent's.
    pub fn forget(self) {
        std::mem::forget(self);
    }

    /// Whether this is the process that made the part.
    #[must_use]
    #[inline]
    pub fn is_same_process(&self) -> bool {
        self.shared.guard.is_same_process()
    }

    pub(super) fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    /// What every call asks first.
    pub(super) fn check(&self) -> Result<(), Stop> {
        if self.is_same_process() { Ok(()) } else { Err(Stop::Forked) }
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        self.end();
    }
}
