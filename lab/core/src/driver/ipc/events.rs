//! Events that several processes know: when each is finished stands in memory that they share.

use std::{os::fd::AsRawFd, sync::atomic::AtomicU64};

use super::{EVENT, open};
use crate::{
    backing,
    driver::{
        ContextId, Driver, EventId, IpcHandle,
        state::{Moments, SharedMoment},
    },
    error::{Error, Result},
    machine::Identity,
    ranges::FreeRanges,
    timeline::Nanoseconds,
};

/// Room for the moments of 65,536 events, of which only what is written exists.
const LENGTH: u64 = 1 << 19;
const PAGE: u64 = 4096;
const MOMENT: u64 = size_of::<AtomicU64>() as u64;

impl Driver {
    /// Makes an event that other processes can open. Documented: it keeps no time.
    pub fn create_shared_event(&mut self, context: ContextId) -> Result<EventId> {
        let id = self.create_event(context, false)?;
        let shared = self.new_moment();
        if shared.is_err() {
            self.destroy_event(id)?;
        }
        self.event_mut(id)?.shared = Some(shared?);
        Ok(id)
    }

    fn new_moment(&mut self) -> Result<SharedMoment> {
        if self.ipc.moments.is_none() {
            let file = backing::memory_file(LENGTH)?;
            let start = backing::reserve(LENGTH, PAGE, false)?;
            backing::map_file(start, LENGTH, &file, 0)?;
            self.ipc.moments = Some(Moments { file, start, free: FreeRanges::new(0, LENGTH) });
        }
        let moments = self.ipc.moments.as_mut().ok_or(Error::OutOfMemory)?;
        let place = moments.free.take(MOMENT).ok_or(Error::OutOfMemory)?;
        let moment = SharedMoment { address: moments.start + place, own: Some(place) };
        moment.set(0);
        Ok(moment)
    }

    /// The end of an event: its place is another's to have.
    pub(in crate::driver) fn end_moment(&mut self, moment: Option<SharedMoment>) {
        if let Some(place) = moment.and_then(|moment| moment.own)
            && let Some(moments) = &mut self.ipc.moments
        {
            moments.free.give_back(place, MOMENT);
        }
    }

    /// A handle for an event that was made to be shared.
    pub fn export_event(&self, id: EventId) -> Result<IpcHandle> {
        let shared = self.event(id)?.shared.ok_or(Error::InvalidValue)?;
        let place = shared.own.ok_or(Error::InvalidValue)?;
        let moments = self.ipc.moments.as_ref().ok_or(Error::InvalidValue)?;
        let own = Identity::own();
        let file = u64::from(own.pid) << 32 | moments.file.as_raw_fd() as u64;
        Ok([EVENT, file, own.started, backing::inode(&moments.file)?, LENGTH, place, MOMENT, id])
    }

    /// An event of another process.
    pub fn import_event(&mut self, context: ContextId, handle: IpcHandle) -> Result<EventId> {
        let [tag, _, _, inode, length, place, ..] = handle;
        let fits = place.is_multiple_of(MOMENT) && place < LENGTH;
        if tag != EVENT || length != LENGTH || !fits {
            return Err(Error::InvalidValue);
        }
        let start = match self.ipc.foreign_moments.get(&inode) {
            Some(start) => *start,
            None => {
                let file = open(&handle)?;
                let start = backing::reserve(LENGTH, PAGE, false)?;
                backing::map_file(start, LENGTH, &file, 0)?;
                self.ipc.foreign_moments.insert(inode, start);
                start
            }
        };
        let id = self.create_event(context, false)?;
        self.event_mut(id)?.shared = Some(SharedMoment { address: start + place, own: None });
        Ok(id)
    }

    /// A moment of this process's clock, on the one that all share.
    pub(in crate::driver) fn on_shared_clock(&self, at: Nanoseconds) -> u64 {
        self.ipc.epoch + at
    }

    /// And back; what was before this process began was long ago.
    pub(in crate::driver) fn on_own_clock(&self, at: u64) -> Nanoseconds {
        at.saturating_sub(self.ipc.epoch)
    }
}
