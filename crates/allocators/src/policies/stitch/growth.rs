//! Where a lane's pages come from when it grows.

use super::budget::Budget;
use crate::device::{Device, Handle, PAGE};

/// A device for [`Lane::grow`](super::Lane::grow) that knows of pages elsewhere: spare ones and those
/// that lie idle in other lanes. It counts in the budget what the device gives and takes back.
pub struct Growth<'a> {
    device: &'a mut dyn Device,
    budget: &'a Budget,
    spare: &'a mut Vec<Handle>,
    others: &'a mut dyn FnMut(u64) -> Vec<Handle>,
}

/// Unmaps at most so many idle pages of the growing lane itself.
pub(super) type OwnIdle<'a> = dyn FnMut(u64, &mut dyn Device) -> Vec<Handle> + 'a;

impl<'a> Growth<'a> {
    /// `spare` are pages that are mapped nowhere. `others` gives at most so many pages that lay idle
    /// in other lanes and are unmapped there; it is asked where the budget prefers them to new ones,
    /// and when the device refuses.
    pub fn new(
        device: &'a mut dyn Device,
        budget: &'a Budget,
        spare: &'a mut Vec<Handle>,
        others: &'a mut dyn FnMut(u64) -> Vec<Handle>,
    ) -> Self {
        Self { device, budget, spare, others }
    }

    /// So many pages that are mapped nowhere: spare ones; where the budget says so, idle ones; then
    /// new ones; and idle ones after all where the device has no more. All or none.
    pub(super) fn pages(&mut self, count: u64, own: &mut OwnIdle<'_>) -> Option<Vec<Handle>> {
        let spared = self.spare.len().saturating_sub(count as usize);
        let mut pages = self.spare.split_off(spared);
        let missing = count - pages.len() as u64;
        if missing > 0 && !self.prefers_new(missing) {
            self.move_idle(count, &mut pages, own);
        }
        let missing = count - pages.len() as u64;
        // What cannot be had is not asked for: it would be taken only to be given back.
        let mut new = if missing <= self.left() { self.create_up_to(missing) } else { Vec::new() };
        self.move_idle(count - new.len() as u64, &mut pages, own);
        if ((pages.len() + new.len()) as u64) < count {
            self.spare.append(&mut pages);
            new.into_iter().for_each(|page| self.release(page));
            return None;
        }
        pages.append(&mut new);
        Some(pages)
    }

    /// New pages: as many as wanted, or as the device has.
    fn create_up_to(&mut self, wanted: u64) -> Vec<Handle> {
        let mut new = Vec::new();
        while (new.len() as u64) < wanted
            && let Some(page) = self.create(PAGE)
        {
            new.push(page);
        }
        new
    }

    /// Not where the budget would rather move pages, nor where the device is known to have too few.
    fn prefers_new(&self, pages: u64) -> bool {
        pages <= self.left() && self.budget.prefers_new(pages * PAGE)
    }

    /// Pages that the device can still give, as far as is known without asking for them.
    fn left(&self) -> u64 {
        self.device.capacity().saturating_sub(self.device.in_use()) / PAGE
    }

    /// Adds idle pages up to a count: the lane's own before those of others.
    fn move_idle(&mut self, count: u64, pages: &mut Vec<Handle>, own: &mut OwnIdle<'_>) {
        let before = pages.len();
        let missing = count.saturating_sub(pages.len() as u64);
        if missing > 0 {
            pages.extend(own(missing, self.device));
        }
        let missing = count.saturating_sub(pages.len() as u64);
        if missing > 0 {
            pages.extend((self.others)(missing));
        }
        self.budget.moved((pages.len() - before) as u64 * PAGE);
    }
}

impl Device for Growth<'_> {
    fn alloc(&mut self, size: u64) -> Option<u64> {
        self.device.alloc(size)
    }

    fn free(&mut self, address: u64) {
        self.device.free(address);
    }

    fn reserve(&mut self, size: u64) -> u64 {
        self.device.reserve(size)
    }

    fn create(&mut self, size: u64) -> Option<Handle> {
        let handle = self.device.create(size)?;
        self.budget.created(size);
        Some(handle)
    }

    /// Of a page.
    fn release(&mut self, handle: Handle) {
        self.device.release(handle);
        self.budget.released(PAGE);
    }

    fn map(&mut self, address: u64, handle: Handle) {
        self.device.map(address, handle);
    }

    fn unmap(&mut self, address: u64) {
        self.device.unmap(address);
    }

    fn synchronize(&mut self) {
        self.device.synchronize();
    }

    fn capacity(&self) -> u64 {
        self.device.capacity()
    }

    fn in_use(&self) -> u64 {
        self.device.in_use()
    }

    fn looked_at(&mut self, things: u64) {
        self.device.looked_at(things);
    }
}
