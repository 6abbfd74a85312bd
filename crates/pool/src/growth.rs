//! The growth path: memory that a lane does not have.

use std::{cell::RefCell, sync::atomic::Ordering::Relaxed};

use whyoom_allocators::{Handle, policies::stitch};

use crate::{
    device::{DevicePool, Reserves},
    error::PoolError,
    lane::Lane,
    lane_device::LaneDevice,
    lane_key::Key,
    pages::Pages,
    record,
    refusal::Refusal,
};

impl DevicePool {
    /// Memory that a lane does not have: pages are moved or made.
    #[cold]
    pub(crate) fn grow(
        &self,
        lane: &Lane,
        key: Key,
        size: u64,
        requested: u64,
    ) -> Result<u64, PoolError> {
        match self.grow_once(lane, key, size, requested) {
            // What lies idle was given back, which makes room for what describes mappings.
            Err(PoolError::Refused { refusal: Refusal::UNMAPPED }) => {
                let (lane, state) = self.lane(key)?;
                drop(state);
                let again = self.grow_once(lane, key, size, requested);
                self.retries.fetch_add(u64::from(again.is_ok()), Relaxed);
                again.map_err(|error| match error {
                    PoolError::Refused { refusal: Refusal::UNMAPPED } => {
                        self.refuse(key, requested)
                    }
                    other => other,
                })
            }
            granted => granted,
        }
    }

    fn grow_once(
        &self,
        lane: &Lane,
        key: Key,
        size: u64,
        requested: u64,
    ) -> Result<u64, PoolError> {
        let _relaxed = self.relaxed();
        let mut growth = self.growth.lock();
        growth.pages.borrow_mut().sweep(false, &self.driver);
        self.empty_closed(&mut growth);
        let mut granted = self.attempt((lane, key), &mut growth, size, requested);
        if matches!(granted, Err(PoolError::OutOfMemory { .. })) && self.make_room(key, &mut growth)
        {
            granted = self.attempt((lane, key), &mut growth, size, requested);
            self.retries.fetch_add(u64::from(granted.is_ok()), Relaxed);
        }
        if granted == Err(PoolError::Refused { refusal: Refusal::CLOSED }) && key.pool == 0 {
            drop(growth);
            return self.alloc_in(requested, key);
        }
        if granted == Err(PoolError::Refused { refusal: Refusal::UNMAPPED }) {
            self.give_back(&mut growth, 0);
        }
        record::totals(self.index, self.budget.live(), self.budget.reserved());
        match granted {
            Err(PoolError::OutOfMemory { .. }) => Err(self.refuse(key, requested)),
            granted => granted,
        }
    }

    /// Notes that a request is refused.
    fn refuse(&self, key: Key, requested: u64) -> PoolError {
        self.failures.fetch_add(1, Relaxed);
        record::out_of_memory(self.index, key.stream, requested, &self.budget);
        PoolError::OutOfMemory { requested }
    }

    /// Before a request is refused: what other streams use is waited for, and a private pool, which
    /// takes no pages from others, gets theirs by way of the device. Whether that may have helped.
    fn make_room(&self, key: Key, growth: &mut Reserves) -> bool {
        let waited = self.wait_for_blocks();
        if self.debug.is_some() {
            // Old mappings that were kept have memory, too.
            growth.pages.borrow_mut().sweep(true, &self.driver);
            return true;
        }
        if key.pool == 0 {
            return waited;
        }
        self.give_back(growth, 0);
        true
    }

    fn attempt(
        &self,
        (lane, key): (&Lane, Key),
        growth: &mut Reserves,
        size: u64,
        requested: u64,
    ) -> Result<u64, PoolError> {
        let Reserves { pages, spare } = growth;
        let mut state = lane.state.lock();
        if state.key != key || state.is_closed {
            // It was closed while the request was on its way: the next one for the key is another.
            return Err(PoolError::Refused { refusal: Refusal::CLOSED });
        }
        self.settle_all(&mut state);
        let mut device = LaneDevice::new(self, pages, (lane, &state), size);
        // What a graph is captured with must not be in use: it may run at any time, and waits for nobody.
        let is_private = key.pool != 0;
        let in_use =
            |page: &mut Handle| is_private && !pages.borrow().is_done_with(*page, &self.driver);
        let in_use: Vec<Handle> = spare.extract_if(.., in_use).collect();
        let mut others = |wanted| match is_private {
            true => Vec::new(),
            false => self.idle_of_others(lane, pages, wanted),
        };
        let taken = state.policy.take(size).or_else(|| {
            let mut growth = stitch::Growth::new(&mut device, &self.budget, spare, &mut others);
            state.policy.grow(size, &mut growth)
        });
        spare.extend(in_use);
        let finished = device.finish();
        if finished == Err(Refusal::UNMAPPED) {
            taken.map(|grant| state.policy.free(grant.block));
            // Nobody may be given what is not mapped: the lane serves no more, and its pages go when they can.
            self.close(lane, &mut state);
            return Err(PoolError::Refused { refusal: Refusal::UNMAPPED });
        }
        if let Err(refusal) = finished {
            // Its addresses are not what the policy believes: what lives there lives on, and the next
            // request begins anew elsewhere.
            self.close(lane, &mut state);
            return Err(PoolError::Refused { refusal });
        }
        let grant = taken.ok_or(PoolError::OutOfMemory { requested })?;
        Ok(self.give(&mut state, grant, requested))
    }

    /// At most so many idle pages of other lanes.
    fn idle_of_others(&self, lane: &Lane, pages: &RefCell<Pages>, wanted: u64) -> Vec<Handle> {
        let mut found = Vec::new();
        for other in self.lanes.all().filter(|other| other.index != lane.index) {
            let missing = wanted - found.len() as u64;
            if missing == 0 {
                break;
            }
            found.extend(self.idle_of(other, pages, missing));
        }
        found
    }

    /// At most so many idle pages of a lane. None while a graph is captured: nothing can be marked then
    /// on a stream that is not in hand.
    pub(crate) fn idle_of(&self, lane: &Lane, pages: &RefCell<Pages>, wanted: u64) -> Vec<Handle> {
        let mut state = lane.state.lock();
        let mut device = LaneDevice::new(self, pages, (lane, &state), 0);
        let has_pages = !state.was_in_graphs && state.may_have_idle_pages();
        if wanted == 0 || !has_pages || !device.mark() {
            return Vec::new();
        }
        let found = state.policy.give_idle(wanted, &mut device);
        if device.finish().is_err() {
            // What it gave is not what the driver has: it is given to nobody.
            self.close(lane, &mut state);
            return Vec::new();
        }
        found
    }
}
