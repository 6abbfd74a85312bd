//! Ours: PyTorch's expandable segments with pages of 2 MiB, whose idle pages are stitched together
//! where they are needed.
//!
//! Blocks are placed as PyTorch's expandable segments place them: the smallest free block that fits,
//! else at the lowest place where free and bare addresses together are enough. Blocks share pages.
//! The difference is where pages come from: once as much is taken as was ever live, and a little
//! more, pages that lie idle in free blocks are unmapped there and mapped here, and only what is
//! missing is asked of the device. What is taken stays near what is live, and in the steady state of
//! a loop blocks fit again where they were, so that nothing has to be mapped.
//!
//! A [`Lane`] holds the blocks of one stream in one pool, a [`Budget`] what all lanes of a device hold
//! together, and a [`Growth`] brings pages. The live pool is made of these; [`Stitch`] is the same for
//! replays.

mod budget;
mod givers;
mod growth;
mod lane;
mod shared_device;
#[cfg(test)]
mod tests;

use std::cell::RefCell;

use whyoom_trace::{PoolId, StreamId};

use self::givers::Givers;
pub use self::{
    budget::Budget,
    growth::Growth,
    lane::{Lane, LaneBlock},
    shared_device::SharedDevice,
};
use crate::{
    device::{Device, Handle, PAGE},
    policy::{BlockId, Grant, OutOfMemory, Policy, Request},
};

/// All lanes of a device, for replays.
#[derive(Debug)]
pub struct Stitch {
    device_total: u64,
    lanes: Vec<Lane>,
    /// The lanes that may have idle pages: whoever grows asks no others.
    givers: Givers,
    /// Which lane serves a stream in a pool, in order.
    by_key: Vec<((PoolId, StreamId), u32)>,
    budget: Budget,
    /// Pages that are mapped nowhere.
    spare: Vec<Handle>,
    /// The lane of each live block, and what it is called there.
    owners: Vec<(u32, BlockId)>,
    unused: Vec<u32>,
}

impl Stitch {
    /// An allocator on a device of that size that has nothing yet.
    #[must_use]
    pub fn new(device_total: u64) -> Self {
        Self {
            device_total,
            lanes: Vec::new(),
            givers: Givers::default(),
            by_key: Vec::new(),
            budget: Budget::new(),
            spare: Vec::new(),
            owners: Vec::new(),
            unused: Vec::new(),
        }
    }

    fn lane_of(&mut self, request: &Request) -> u32 {
        let key = (request.pool, request.stream);
        match self.by_key.first() {
            Some((first, lane)) if *first == key => *lane,
            _ => self.search(key),
        }
    }

    fn search(&mut self, key: (PoolId, StreamId)) -> u32 {
        let place = match self.by_key.binary_search_by_key(&key, |(key, _)| *key) {
            Ok(place) => return self.by_key[place].1,
            Err(place) => place,
        };
        let lane = self.lanes.len() as u32;
        let is_common = key.0 == PoolId(0);
        let make = if is_common { Lane::new } else { Lane::private };
        self.lanes.push(make(self.device_total));
        self.by_key.insert(place, (key, lane));
        lane
    }

    fn grow(&mut self, lane: u32, size: u64, device: &mut dyn Device) -> Option<Grant> {
        let (before, rest) = self.lanes.split_at_mut(lane as usize);
        let (growing, after) = rest.split_first_mut()?;
        let device = RefCell::new(device);
        let givers = &mut self.givers;
        let mut others = |most: u64| {
            let mut pages = Vec::new();
            let mut from = 0;
            while let Some(giver) = givers.next(from)
                && (pages.len() as u64) < most
            {
                from = giver + 1;
                let lane = match giver.checked_sub(lane) {
                    None => &mut before[giver as usize],
                    Some(0) => continue,
                    Some(behind) => &mut after[behind as usize - 1],
                };
                let missing = most - pages.len() as u64;
                let mut device = SharedDevice(&device);
                device.looked_at(1);
                let given = lane.give_idle(missing, &mut device);
                if (given.len() as u64) < missing {
                    givers.remove(giver);
                }
                pages.extend(given);
            }
            pages
        };
        let mut device = SharedDevice(&device);
        let mut growth = Growth::new(&mut device, &self.budget, &mut self.spare, &mut others);
        let granted = growing.grow(size, &mut growth);
        self.givers.add(lane);
        granted
    }

    /// Counts a lane's block, and gives it a name among those of all lanes.
    fn name(&mut self, lane: u32, grant: Grant) -> Grant {
        self.budget.allocated(grant.size);
        let owner = (lane, grant.block);
        let block = match self.unused.pop() {
            Some(id) => {
                self.owners[id as usize] = owner;
                id
            }
            None => {
                self.owners.push(owner);
                self.owners.len() as u32 - 1
            }
        };
        Grant { block: BlockId(block), ..grant }
    }
}

impl Policy for Stitch {
    fn alloc(&mut self, request: Request, device: &mut dyn Device) -> Result<Grant, OutOfMemory> {
        let lane = self.lane_of(&request);
        let mut granted = self.lanes[lane as usize].take(request.size);
        if granted.is_none() {
            granted = self.grow(lane, request.size, device);
        }
        if granted.is_none() {
            self.release_cached(device);
            granted = self.grow(lane, request.size, device);
        }
        let granted = granted.ok_or(OutOfMemory { requested: request.size })?;
        Ok(self.name(lane, granted))
    }

    fn free(&mut self, block: BlockId, _: &mut dyn Device) {
        let (lane, held) = self.owners[block.0 as usize];
        self.unused.push(block.0);
        let size = self.lanes[lane as usize].free(held);
        self.givers.add(lane);
        self.budget.freed(size);
    }

    fn release_cached(&mut self, device: &mut dyn Device) {
        device.synchronize();
        let mut from = 0;
        while let Some(giver) = self.givers.next(from) {
            from = giver + 1;
            device.looked_at(1);
            self.givers.remove(giver);
            self.spare.extend(self.lanes[giver as usize].give_idle(u64::MAX, device));
        }
        for page in self.spare.drain(..) {
            device.release(page);
            self.budget.released(PAGE);
        }
    }

    /// Its idle pages are others' to take from now on.
    fn retire_pool(&mut self, pool: PoolId, _: &mut dyn Device) {
        if pool == PoolId(0) {
            return;
        }
        for (_, lane) in self.by_key.extract_if(.., |((of, _), _)| *of == pool) {
            self.lanes[lane as usize].retire();
            self.givers.add(lane);
        }
    }
}
