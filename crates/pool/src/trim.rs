//! How memory goes back to the device.

use std::sync::atomic::Ordering::Relaxed;

use whyoom_allocators::PAGE;

use crate::{
    device::{DevicePool, Reserves},
    driver::Driver,
    lane::{Lane, State},
};

/// Pages that are kept for the next request when a lane has gone, at most.
const MOST_SPARE: usize = 32;

impl DevicePool {
    /// All memory of the device.
    pub fn total(&self) -> u64 {
        self.driver.total()
    }

    /// Gives idle pages back until no more than so much is reserved. Whoever asks for this waits for
    /// the work that used them.
    pub fn trim(&self, keep: u64) {
        let _relaxed = self.relaxed();
        self.wait_for_blocks();
        self.give_back(&mut self.growth.lock(), keep);
        crate::record::totals(self.index, self.budget.live(), self.budget.reserved());
    }

    pub(crate) fn give_back(&self, growth: &mut Reserves, keep: u64) {
        self.end_graphs();
        let Reserves { pages, spare } = growth;
        for lane in self.lanes.all() {
            let above = self.budget.reserved().saturating_sub(keep).div_ceil(PAGE);
            let wanted = above.saturating_sub(spare.len() as u64);
            spare.extend(self.idle_of(lane, pages, wanted));
        }
        while self.budget.reserved() > keep
            && let Some(page) = spare.pop()
        {
            pages.borrow_mut().release(page, &self.driver);
            self.budget.released(PAGE);
        }
        // Memory goes when its last mapping does.
        pages.borrow_mut().sweep(true, &self.driver);
    }

    /// Opens a private pool: what streams allocate while they are captured comes from there.
    pub fn begin_private(&self, name: (u64, u64)) {
        self.captures.begin(name);
    }

    /// Closes it.
    pub fn end_private(&self, name: (u64, u64)) {
        self.captures.end(name);
    }

    /// One of its users has gone. With the last one its idle pages are everybody's, once the device has
    /// finished what graphs may still do with them.
    pub fn release_private(&self, name: (u64, u64)) {
        let Some(pool) = self.captures.release(name) else { return };
        for lane in self.lanes.all() {
            let mut state = lane.state.lock();
            if state.key.pool == pool {
                state.policy.retire();
                state.was_in_graphs = true;
                self.close(lane, &mut state);
            }
        }
        self.empty_closed(&mut self.growth.lock());
    }

    /// A lane takes no requests any more. What lies idle in it goes to others when it can.
    pub(crate) fn close(&self, lane: &Lane, state: &mut State) {
        state.is_closed = true;
        self.lanes.close(lane);
        self.has_closed.store(true, Relaxed);
    }

    /// Pages that lie idle in lanes which take no requests become spare.
    pub(crate) fn empty_closed(&self, growth: &mut Reserves) {
        if !self.has_closed.swap(false, Relaxed) {
            return;
        }
        let _relaxed = self.relaxed();
        self.end_graphs();
        let Reserves { pages, spare } = growth;
        for lane in self.lanes.closed() {
            self.collect(&mut lane.state.lock());
            spare.extend(self.idle_of(lane, pages, u64::MAX));
            if !lane.state.lock().is_empty() {
                self.has_closed.store(true, Relaxed);
            }
        }
        for page in spare.drain(MOST_SPARE.min(spare.len())..) {
            pages.borrow_mut().release(page, &self.driver);
            self.budget.released(PAGE);
        }
    }

    /// Waits for graphs that are gone, where there are any that had memory, and none is captured: as
    /// PyTorch's own allocator does, which gives such memory back by `cudaFree`.
    fn end_graphs(&self) {
        let had_graphs = |lane: &&Lane| lane.state.lock().was_in_graphs;
        let lanes: Vec<&Lane> = self.lanes.closed().filter(had_graphs).collect();
        if lanes.is_empty() {
            return;
        }
        if self.captures.if_none_open(|| self.driver.synchronize()) == Some(Ok(())) {
            lanes.iter().for_each(|lane| lane.state.lock().was_in_graphs = false);
        }
    }
}
