//! The device as one lane sees it: what the policy asks is done on the driver, in the order of the
//! lane's stream.

use std::{cell::RefCell, ops::Range, sync::Arc};

use whyoom_allocators::{Device, Handle, PAGE};

use crate::{
    device::DevicePool,
    driver::Driver,
    lane::{Lane, State},
    lane_key::Key,
    moments::Moment,
    pages::Pages,
    record,
    refusal::Refusal,
};

/// A request from which on a question to the driver costs little beside the pages.
const WORTH_ASKING: u64 = 32 << 20;

/// The device as one lane sees it, for one visit of the growth path.
pub(crate) struct LaneDevice<'a> {
    device: &'a DevicePool,
    pages: &'a RefCell<Pages>,
    lane: usize,
    owner: u64,
    key: Key,
    /// The last moment of the lane's stream, where that has gone.
    last: Option<Arc<Moment>>,
    /// What was asked for.
    wanted: u64,
    /// This moment on the lane's stream, marked when it is first needed.
    moment: Option<Arc<Moment>>,
    /// Addresses that were mapped and may not be used yet: neighbours are allowed together.
    closed: Option<Range<u64>>,
    /// Whether the device had no room to map what it has given.
    is_full: bool,
    /// The first thing that the driver refused, other than memory. The lane's addresses are not what
    /// its policy believes from then on.
    pub(crate) trouble: Option<Refusal>,
}

impl<'a> LaneDevice<'a> {
    pub(crate) fn new(
        device: &'a DevicePool,
        pages: &'a RefCell<Pages>,
        (lane, state): (&Lane, &State),
        wanted: u64,
    ) -> Self {
        let (lane, owner) = (lane.index, state.owner);
        let (key, last) = (state.key, state.last.clone());
        Self {
            device,
            pages,
            lane,
            owner,
            key,
            last,
            wanted,
            moment: None,
            closed: None,
            is_full: false,
            trouble: None,
        }
    }

    /// Marks this moment on a stream that is not in hand; whether that was possible.
    pub(crate) fn mark(&mut self) -> bool {
        if self.key.is_ordered() && self.last.is_none() {
            self.moment = self.device.mark_outside_captures(self.key.stream);
            return self.moment.is_some();
        }
        true
    }

    /// Allows what was mapped. Whether everything went well: [`Refusal::UNMAPPED`] where the device has
    /// no room to map what it has given. What the policy took is to be freed again then.
    pub(crate) fn finish(mut self) -> Result<(), Refusal> {
        self.allow_closed();
        let full = self.is_full.then_some(Refusal::UNMAPPED);
        self.trouble.or(full).map_or(Ok(()), Err)
    }

    fn attempt<T>(&mut self, answer: Result<T, Refusal>) -> Option<T> {
        answer.map_err(|refusal| self.trouble.get_or_insert(refusal)).ok()
    }

    fn allow_closed(&mut self) {
        let Some(closed) = self.closed.take() else { return };
        let size = closed.end - closed.start;
        let allowed = self.device.driver.allow(closed.start, size);
        if let Err(refusal) = allowed
            && refusal.is_for_want_of_room()
        {
            self.is_full = true;
            return;
        }
        if self.attempt(allowed).is_some() {
            record::segment_map(self.device.index, self.key, closed.start, size);
        }
    }

    /// What must pass before this lane's old mappings go; none where nothing runs that uses them.
    fn moment(&mut self) -> Option<Arc<Moment>> {
        if !self.key.is_ordered() {
            return None;
        }
        let last = || self.last.clone().unwrap_or_else(|| self.device.mark(self.key.stream));
        Some(Arc::clone(self.moment.get_or_insert_with(last)))
    }
}

impl Device for LaneDevice<'_> {
    /// The policy takes memory by pages only.
    fn alloc(&mut self, _: u64) -> Option<u64> {
        None
    }

    fn free(&mut self, _: u64) {}

    fn reserve(&mut self, size: u64) -> u64 {
        let reserved = self.device.driver.reserve(size);
        let Some(address) = self.attempt(reserved) else { return 0 };
        if !self.device.lanes.add_range(address, address + size, self.lane) {
            self.trouble = Some(Refusal::OUT_OF_MEMORY);
        }
        address
    }

    fn create(&mut self, size: u64) -> Option<Handle> {
        debug_assert_eq!(size, PAGE);
        if self.trouble.is_some() || !self.device.may_have(size) {
            return None;
        }
        match self.pages.borrow_mut().create(&self.device.driver) {
            Ok(handle) => Some(handle),
            Err(Refusal::OUT_OF_MEMORY) => None,
            Err(refusal) => {
                self.trouble = Some(refusal);
                None
            }
        }
    }

    fn release(&mut self, handle: Handle) {
        self.pages.borrow_mut().release(handle, &self.device.driver);
    }

    fn map(&mut self, address: u64, handle: Handle) {
        if self.trouble.is_some() {
            return;
        }
        if self.is_full {
            self.pages.borrow_mut().leave_unmapped(address, handle);
            return;
        }
        let stream = self.key.is_ordered().then_some(self.key.stream);
        let user = (self.owner, stream);
        let mapped = self.pages.borrow_mut().map(address, handle, user, &self.device.driver);
        if let Err(refusal) = mapped
            && refusal.is_for_want_of_room()
        {
            self.is_full = true;
            self.pages.borrow_mut().leave_unmapped(address, handle);
            return;
        }
        if self.attempt(mapped).is_none() {
            return;
        }
        match &mut self.closed {
            Some(closed) if closed.end == address => closed.end += PAGE,
            _ => {
                self.allow_closed();
                self.closed = Some(address..address + PAGE);
            }
        }
    }

    fn unmap(&mut self, address: u64) {
        self.allow_closed();
        let moment = self.moment();
        let driver = &self.device.driver;
        let last = moment.as_ref().map(|moment| (self.owner, moment));
        let unmapped = self.pages.borrow_mut().unmap(address, last, driver);
        if self.attempt(unmapped).is_some() {
            record::segment_unmap(self.device.index, self.key, address, PAGE);
        }
    }

    /// Nothing here has to wait for the device: see [`Pages`].
    fn synchronize(&mut self) {}

    /// Where much is wanted, the device is asked what it has left, so that pages are not made in vain.
    fn capacity(&self) -> u64 {
        let device = &self.device;
        let total = device.driver.total();
        let left = (self.wanted >= WORTH_ASKING).then(|| device.driver.free().unwrap_or(total));
        let can_have = left.map_or(total, |left| device.budget.reserved().saturating_add(left));
        can_have.min(device.cap().unwrap_or(total))
    }

    fn in_use(&self) -> u64 {
        self.device.budget.reserved()
    }
}
