//! Expandable segments: addresses for the whole device, with memory mapped in as it is needed.

use super::{
    PyTorch,
    blocks::{Block, NONE},
    pool::Found,
    segment::ExpandableSegment,
    settings::SMALL_SEGMENT,
};
use crate::device::{Device, Handle};

/// Where pages come from: so many, each of a size; all or none.
pub(super) type PageSource<'a> =
    dyn FnMut(&mut PyTorch, u64, u64, &mut dyn Device) -> Option<Vec<Handle>> + 'a;

impl PyTorch {
    /// Of the free blocks of an expandable segment from this one on, the first that could grow
    /// less than the next: growing is kept for requests that need it.
    pub(super) fn least_growable(&self, pool: u32, first: Found) -> Found {
        let mut found = first;
        // One that cannot grow is never larger than the next.
        while let beyond = self.bare_beyond(found.id)
            && beyond > 0
            && let Some(next) = self.pools[pool as usize].after(&found)
            && next.size + self.bare_beyond(next.id) < found.size + beyond
        {
            found = next;
        }
        found
    }

    /// How far a free block could grow into the bare one behind it; not at all outside of expandable
    /// segments.
    #[inline]
    fn bare_beyond(&self, id: u32) -> u64 {
        let next = self.blocks.get(id).next;
        let beyond = (next != NONE).then(|| self.blocks.get(next));
        beyond.filter(|next| !next.mapped).map_or(0, |next| next.size)
    }

    /// Memory for a request by mapping new pages: at the lowest place where free and bare addresses
    /// together are enough.
    pub(super) fn take_expandable(
        &mut self,
        pool: u32,
        stream: u64,
        needed: u64,
        device: &mut dyn Device,
    ) -> Option<u32> {
        let place = self.place_for(pool, stream, needed, device)?;
        self.fill(place, needed, &mut Self::create, device)
    }

    /// Where a request can be put once there is memory: the first block of a run of free and bare
    /// ones, in a new segment where no other has room.
    pub(super) fn place_for(
        &mut self,
        pool: u32,
        stream: u64,
        needed: u64,
        device: &mut dyn Device,
    ) -> Option<u32> {
        let mut looked_at = 0;
        let found = self.room_for(pool, stream, needed, &mut looked_at);
        device.looked_at(looked_at);
        found.or_else(|| self.new_segment(pool, stream, needed, device))
    }

    /// Puts pages where a run of blocks has none, as far as needed; one free block that is in no pool.
    /// Where there are too few pages, those that came stay as free blocks.
    pub(super) fn fill(
        &mut self,
        place: u32,
        needed: u64,
        pages: &mut PageSource<'_>,
        device: &mut dyn Device,
    ) -> Option<u32> {
        let mut found = place;
        if !self.blocks.get(found).mapped {
            let wanted = self.blocks.get(found).size.min(needed);
            self.map_block(found, wanted, pages, device)?;
        }
        while self.blocks.get(found).size < needed {
            let next = self.blocks.get(found).next;
            let missing = needed - self.blocks.get(found).size;
            let wanted = self.blocks.get(next).size.min(missing);
            self.map_block(next, wanted, pages, device)?;
            // It has grown over the block before it.
            found = next;
        }
        let pool = self.blocks.get(found).pool;
        self.pools[pool as usize].remove(&self.blocks, found);
        Some(found)
    }

    /// The lowest run of free and bare blocks that is long enough.
    fn room_for(&self, pool: u32, stream: u64, needed: u64, looked_at: &mut u64) -> Option<u32> {
        self.pools[pool as usize].unmapped_of(stream).find_map(|bare| {
            let before = self.blocks.get(bare).prev;
            let usable = before != NONE && !self.blocks.get(before).allocated;
            let first = if usable { before } else { bare };
            let (mut id, mut room) = (first, 0);
            *looked_at += 1;
            while room < needed && id != NONE && !self.blocks.get(id).allocated {
                room += self.blocks.get(id).size;
                id = self.blocks.get(id).next;
                *looked_at += 1;
            }
            (room >= needed).then_some(first)
        })
    }

    fn new_segment(
        &mut self,
        pool: u32,
        stream: u64,
        needed: u64,
        device: &mut dyn Device,
    ) -> Option<u32> {
        let small = self.pools[pool as usize].small;
        let page = if small { SMALL_SEGMENT } else { self.settings.large_segment_size };
        let total = self.settings.device_total;
        let size = (total + total / 8).next_multiple_of(page);
        if size < needed {
            return None;
        }
        let address = device.reserve(size);
        self.registrations += 1;
        self.segments.push(ExpandableSegment::bare(address, size, page));
        let block = Block {
            address,
            size,
            mapped: false,
            segment: self.segments.len() as u32 - 1,
            ..self.new_block(stream, pool)
        };
        let id = self.blocks.add(block);
        self.pools[pool as usize].insert_unmapped(&self.blocks, id);
        Some(id)
    }

    /// Puts memory behind the beginning of a bare block and adds it to the free ones.
    fn map_block(
        &mut self,
        id: u32,
        wanted: u64,
        source: &mut PageSource<'_>,
        device: &mut dyn Device,
    ) -> Option<()> {
        let block = *self.blocks.get(id);
        let pages = self.segments[block.segment as usize].pages_for(block.address, wanted);
        let page = self.segments[block.segment as usize].page;
        let mapped = (pages.end - pages.start) * page;
        let handles = source(self, pages.end - pages.start, page, device)?;
        self.segments[block.segment as usize].map(pages, handles, device);
        self.pools[block.pool as usize].remove_unmapped(&self.blocks, id);
        self.blocks.get_mut(id).mapped = true;
        if mapped < block.size {
            let rest =
                Block { address: block.address + mapped, size: block.size - mapped, ..block };
            let rest = self.blocks.add_between(rest, id, block.next);
            self.pools[block.pool as usize].insert_unmapped(&self.blocks, rest);
            self.blocks.get_mut(id).size = mapped;
        }
        self.join_both(id);
        self.pools[block.pool as usize].insert(&mut self.blocks, id);
        Some(())
    }

    /// New pages from the device, all or none.
    fn create(&mut self, count: u64, page: u64, device: &mut dyn Device) -> Option<Vec<Handle>> {
        let mut handles = Vec::new();
        for _ in 0..count {
            let Some(handle) = device.create(page) else {
                handles.into_iter().for_each(|handle| device.release(handle));
                return None;
            };
            handles.push(handle);
        }
        self.reserved += count * page;
        Some(handles)
    }

    /// Gives the whole pages of a free block back to the device.
    pub(super) fn release_pages(&mut self, id: u32, device: &mut dyn Device) {
        let page = self.segments[self.blocks.get(id).segment as usize].page;
        device.synchronize();
        let handles = self.unmap_pages(id, u64::MAX, device);
        if !handles.is_empty() {
            self.drop_bare_segment(id);
        }
        for handle in handles {
            self.reserved -= page;
            device.release(handle);
        }
    }

    /// Takes whole pages of a free block away, at most so many; what is left of it stays free.
    pub(super) fn unmap_pages(
        &mut self,
        id: u32,
        most: u64,
        device: &mut dyn Device,
    ) -> Vec<Handle> {
        let block = *self.blocks.get(id);
        let segment = &mut self.segments[block.segment as usize];
        let page = segment.page;
        let (start, handles) = segment.unmap(block.address..block.end(), most, device);
        let size = handles.len() as u64 * page;
        if size == 0 {
            return handles;
        }
        self.pools[block.pool as usize].remove(&self.blocks, id);
        let before = Block { size: start - block.address, ..block };
        if before.size > 0 {
            let before = self.blocks.add_between(before, block.prev, id);
            self.pools[block.pool as usize].insert(&mut self.blocks, before);
        }
        let after = Block { address: start + size, size: block.end() - start - size, ..block };
        if after.size > 0 {
            let after = self.blocks.add_between(after, id, block.next);
            self.pools[block.pool as usize].insert(&mut self.blocks, after);
        }
        let bare = self.blocks.get_mut(id);
        (bare.address, bare.size, bare.mapped) = (start, size, false);
        self.join_both(id);
        self.pools[block.pool as usize].insert_unmapped(&self.blocks, id);
        handles
    }

    /// Whole pages of a free block of an expandable segment.
    pub(super) fn idle_pages(&self, id: u32) -> u64 {
        let block = self.blocks.get(id);
        let segment = &self.segments[block.segment as usize];
        let first = (block.address - segment.address).div_ceil(segment.page);
        let end = (block.end() - segment.address) / segment.page;
        end.saturating_sub(first)
    }

    /// A segment that is one bare block gives its addresses up.
    fn drop_bare_segment(&mut self, id: u32) {
        let block = *self.blocks.get(id);
        let segment = &self.segments[block.segment as usize];
        if !block.is_split() && block.size == segment.size {
            self.pools[block.pool as usize].remove_unmapped(&self.blocks, id);
            self.blocks.remove(id);
        }
    }
}
