//! One expandable segment: which of its pages have memory.

use std::ops::Range;

use crate::device::{Device, Handle};

/// A range of addresses, in pages that have memory or not.
#[derive(Clone, Debug)]
pub(super) struct ExpandableSegment {
    pub(super) address: u64,
    pub(super) size: u64,
    pub(super) page: u64,
    /// Of the pages up to the last that ever had memory.
    handles: Vec<Option<Handle>>,
    /// How many have it now.
    mapped: u64,
}

impl ExpandableSegment {
    /// Addresses without memory.
    pub(super) fn bare(address: u64, size: u64, page: u64) -> Self {
        Self { address, size, page, handles: Vec::new(), mapped: 0 }
    }

    /// Bytes with memory behind them.
    pub(super) fn mapped(&self) -> u64 {
        self.mapped * self.page
    }

    fn page_address(&self, index: u64) -> u64 {
        self.address + index * self.page
    }

    /// Pages from one that begins at `start` up to what covers `wanted` bytes.
    pub(super) fn pages_for(&self, start: u64, wanted: u64) -> Range<u64> {
        let first = (start - self.address) / self.page;
        first..(start + wanted - self.address).div_ceil(self.page)
    }

    pub(super) fn map(&mut self, pages: Range<u64>, handles: Vec<Handle>, device: &mut dyn Device) {
        let known = self.handles.len().max(pages.end as usize);
        self.handles.resize(known, None);
        for (index, handle) in pages.zip(handles) {
            device.map(self.page_address(index), handle);
            self.handles[index as usize] = Some(handle);
            self.mapped += 1;
        }
    }

    /// Unmaps the whole pages of a range, at most so many, the last ones; where they start.
    pub(super) fn unmap(
        &mut self,
        range: Range<u64>,
        most: u64,
        device: &mut dyn Device,
    ) -> (u64, Vec<Handle>) {
        let end = (range.end - self.address) / self.page;
        let first = (range.start - self.address).div_ceil(self.page);
        let first = first.max(end.saturating_sub(most));
        let mut handles = Vec::new();
        for index in first..end {
            if let Some(handle) = self.handles[index as usize].take() {
                device.unmap(self.page_address(index));
                handles.push(handle);
            }
        }
        self.mapped -= handles.len() as u64;
        (self.page_address(first), handles)
    }
}
