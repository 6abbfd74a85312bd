//! Stream-ordered memory.

use whyoom_trace as trace;
use whyoom_trace::{Action, Bytes, MemoryKind};

use super::{Allocation, AllocationKind, ContextId, Driver, PoolId, Work};
use crate::{
    error::{Error, Result},
    log::Place,
    pool::Pool,
    ranges::round_up,
    timeline::{Nanoseconds, StreamId},
};

/// Something that a pool can be asked or told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PoolAttribute {
    /// Use a block again after a wait through events.
    ReuseFollowEvents,
    /// Use a block again once its free is finished.
    ReuseOpportunistic,
    /// Use a block again by making a stream wait.
    ReuseInternalWaits,
    /// What it may keep at a synchronize.
    ReleaseThreshold,
    /// What it holds of the device.
    Reserved,
    /// The most that it held.
    ReservedHigh,
    /// What it has given out.
    Used,
    /// The most that it had given out.
    UsedHigh,
}

impl Driver {
    /// The pool that a device has from the start.
    pub fn default_pool(&self, device: usize) -> Result<PoolId> {
        self.device(device).map(|device| device.default_pool)
    }

    /// The pool that allocations on a device come from.
    pub fn current_pool(&self, device: usize) -> Result<PoolId> {
        self.device(device).map(|device| device.current_pool)
    }

    /// Sets that.
    pub fn set_current_pool(&mut self, device: usize, pool: PoolId) -> Result<()> {
        if self.pool(pool)?.device != device {
            return Err(Error::InvalidValue);
        }
        self.device_mut(device)?.current_pool = pool;
        Ok(())
    }

    /// Makes a pool.
    pub fn create_pool(&mut self, device: usize) -> Result<PoolId> {
        self.device(device)?;
        let id = self.new_handle();
        self.pools.insert(id, Pool::new(device));
        Ok(id)
    }

    /// Ends a pool, with the last of its blocks where some are live: documented. Its device goes back
    /// to its own one.
    pub fn destroy_pool(&mut self, id: PoolId) -> Result<()> {
        let device = self.pool(id)?.device;
        if self.device(device)?.default_pool == id {
            return Err(Error::InvalidValue);
        }
        let state = self.device_mut(device)?;
        if state.current_pool == id {
            state.current_pool = state.default_pool;
        }
        if let Some(pool) = self.pools.get_mut(&id) {
            pool.doomed = true;
        }
        self.drain_if_over(id);
        Ok(())
    }

    fn drain_if_over(&mut self, id: PoolId) {
        if self.pools.get(&id).is_some_and(|pool| pool.doomed && pool.used == 0) {
            self.drain(id);
        }
    }

    /// Gives all chunks of a pool back, and forgets it.
    fn drain(&mut self, id: PoolId) {
        let Some(pool) = self.pools.remove(&id) else { return };
        let device = pool.device;
        for (start, length) in pool.into_chunks() {
            self.give_range(device, start, length, true);
        }
    }

    /// Empties a device's own pool, when the primary context ends.
    pub(super) fn release_default_pool(&mut self, device: usize) {
        self.release_graph_memory(device);
        let Ok(id) = self.default_pool(device) else { return };
        self.allocations.retain(|_, held| held.kind != AllocationKind::Pooled(id));
        self.drain(id);
        self.pools.insert(id, Pool::new(device));
    }

    fn pool(&self, id: PoolId) -> Result<&Pool> {
        self.pools.get(&id).ok_or(Error::InvalidValue)
    }

    /// Takes memory, in the order of a stream.
    pub fn alloc_async(
        &mut self,
        context: ContextId,
        pool: PoolId,
        stream: StreamId,
        size: u64,
    ) -> Result<u64> {
        // In a capture it becomes a node: documented. Memory comes with a launch.
        if self.admit(context, stream)? {
            return self.capture_alloc(stream, self.pool(pool)?.device, size);
        }
        let outcome = self.alloc_from_pool(context, pool, stream, size);
        let place = self.stream_place(context, stream);
        self.note_alloc(place, MemoryKind::StreamOrdered, &outcome, size);
        outcome
    }

    fn alloc_from_pool(
        &mut self,
        context: ContextId,
        id: PoolId,
        stream: StreamId,
        size: u64,
    ) -> Result<u64> {
        let Pool { device, doomed, .. } = *self.pool(id)?;
        if size == 0 || doomed {
            return Err(Error::InvalidValue);
        }
        self.count_allocation()?;
        let units = self.device(device)?.spec.units;
        let footprint = round_up(size, units.small_unit);
        let start = match self.take_from_pool(id, footprint, stream) {
            Some(start) => start,
            None => {
                self.grow_pool(id, round_up(footprint, units.pool_chunk))?;
                self.take_from_pool(id, footprint, stream).ok_or(Error::OutOfMemory)?
            }
        };
        let kind = AllocationKind::Pooled(id);
        let place = (device, context);
        self.enter(Allocation { footprint, ..Allocation::new(kind, place, start, size) });
        Ok(start)
    }

    fn take_from_pool(&mut self, id: PoolId, footprint: u64, stream: StreamId) -> Option<u64> {
        let now = self.now();
        self.pools.get_mut(&id)?.take(footprint, stream, &mut self.timeline, now)
    }

    /// Adds a chunk. Before it fails it gives the pool's own idle chunks back and tries once more.
    fn grow_pool(&mut self, id: PoolId, bytes: u64) -> Result<()> {
        let device = self.pool(id)?.device;
        let chunk = self.take_range(device, bytes).or_else(|_| {
            self.trim_to(id, 0);
            self.take_range(device, bytes)
        })?;
        self.pools.get_mut(&id).ok_or(Error::InvalidValue)?.grow((chunk, bytes));
        Ok(())
    }

    /// Gives memory back, in the order of a stream.
    pub fn free_async(&mut self, context: ContextId, stream: StreamId, address: u64) -> Result<()> {
        if self.admit(context, stream)? {
            return self.capture(stream, Work::Free(address)).map(drop);
        }
        let outcome = match self.allocations.get(&address).map(|held| held.kind) {
            Some(AllocationKind::Pooled(id)) => self.free_pooled(id, address, stream),
            Some(AllocationKind::Graph(_)) => {
                let stamp = self.timeline.stamp(stream).unwrap_or_default();
                self.end_graph_allocation(address, &stamp)
            }
            // Documented: other device memory may be freed this way too.
            Some(AllocationKind::Device | AllocationKind::Small) => {
                self.release(address);
                Ok(())
            }
            _ => Err(Error::InvalidValue),
        };
        let place = self.stream_place(context, stream);
        self.note_free(place, MemoryKind::StreamOrdered, &outcome, address);
        outcome
    }

    fn free_pooled(&mut self, id: PoolId, address: u64, stream: StreamId) -> Result<()> {
        let stamp = self.timeline.stamp(stream).ok_or(Error::InvalidHandle)?;
        let gone = self.allocations.remove(&address).ok_or(Error::InvalidValue)?;
        if gone.touched {
            crate::backing::fill_zero(gone.start, gone.footprint);
        }
        let pool = self.pools.get_mut(&id).ok_or(Error::InvalidValue)?;
        pool.give_back(address, gone.footprint, stamp);
        self.drain_if_over(id);
        Ok(())
    }

    /// Gives memory of a pool back through the call that waits for the device.
    pub(super) fn free_pooled_now(&mut self, address: u64) -> Result<()> {
        let held = *self.allocations.get(&address).ok_or(Error::InvalidValue)?;
        let legacy = self.context(held.context)?.legacy_stream;
        match held.kind {
            AllocationKind::Pooled(id) => self.free_pooled(id, address, legacy),
            AllocationKind::Graph(_) => {
                let stamp = self.timeline.stamp(legacy).unwrap_or_default();
                self.end_graph_allocation(address, &stamp)
            }
            _ => Err(Error::InvalidValue),
        }
    }

    /// Gives back what a pool does not use, down to an amount.
    pub fn trim_pool(&mut self, id: PoolId, keep: u64) -> Result<()> {
        let device = self.pool(id)?.device;
        self.trim_to(id, keep);
        let place = Place { device: Some(device), pool: id, ..Place::default() };
        self.note(place, &Ok(()), Action::PoolTrim { keep: Bytes(keep) });
        Ok(())
    }

    fn trim_to(&mut self, id: PoolId, keep: u64) {
        let now = self.now();
        let Some(pool) = self.pools.get_mut(&id) else { return };
        let device = pool.device;
        for (start, length) in pool.trim(keep, now) {
            self.give_range(device, start, length, true);
        }
    }

    /// At a synchronize, pools give back what exceeds their threshold.
    pub(super) fn release_above_thresholds(&mut self, device: usize) {
        let exceeding = |pool: &Pool| pool.device == device && pool.reserved > pool.threshold;
        let pools: Vec<(PoolId, u64)> = self
            .pools
            .iter()
            .filter(|(_, pool)| exceeding(pool))
            .map(|(id, pool)| (*id, pool.threshold))
            .collect();
        for (id, threshold) in pools {
            self.trim_to(id, threshold);
        }
    }

    /// What a pool says of itself.
    pub fn pool_attribute(&self, id: PoolId, attribute: PoolAttribute) -> Result<u64> {
        let pool = self.pool(id)?;
        Ok(match attribute {
            PoolAttribute::ReuseFollowEvents => pool.reuse.follow_events.into(),
            PoolAttribute::ReuseOpportunistic => pool.reuse.opportunistic.into(),
            PoolAttribute::ReuseInternalWaits => pool.reuse.internal_waits.into(),
            PoolAttribute::ReleaseThreshold => pool.threshold,
            PoolAttribute::Reserved => pool.reserved,
            PoolAttribute::ReservedHigh => pool.reserved_high,
            PoolAttribute::Used => pool.used,
            PoolAttribute::UsedHigh => pool.used_high,
        })
    }

    /// Tells a pool something. High-water marks can only be set back to zero, as documented.
    pub fn set_pool_attribute(
        &mut self,
        id: PoolId,
        attribute: PoolAttribute,
        value: u64,
    ) -> Result<()> {
        let pool = self.pools.get_mut(&id).ok_or(Error::InvalidValue)?;
        let device = pool.device;
        match (attribute, value) {
            (PoolAttribute::ReuseFollowEvents, _) => pool.reuse.follow_events = value != 0,
            (PoolAttribute::ReuseOpportunistic, _) => pool.reuse.opportunistic = value != 0,
            (PoolAttribute::ReuseInternalWaits, _) => pool.reuse.internal_waits = value != 0,
            (PoolAttribute::ReleaseThreshold, _) => pool.threshold = value,
            (PoolAttribute::ReservedHigh, 0) => pool.reserved_high = pool.reserved,
            (PoolAttribute::UsedHigh, 0) => pool.used_high = pool.used,
            _ => return Err(Error::InvalidValue),
        }
        if attribute == PoolAttribute::ReleaseThreshold {
            let place = Place { device: Some(device), pool: id, ..Place::default() };
            let limit = trace::Limit::ReleaseThreshold;
            self.note(place, &Ok(()), Action::LimitSet { limit, value });
        }
        Ok(())
    }

    /// The device of a pool.
    pub fn pool_device(&self, id: PoolId) -> Result<usize> {
        self.pool(id).map(|pool| pool.device)
    }

    /// The clock that streams run on.
    #[must_use]
    pub fn clock(&self) -> Nanoseconds {
        self.now()
    }
}
