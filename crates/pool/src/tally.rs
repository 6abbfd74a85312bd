//! What a lane has given and taken back, by size class.

/// Requests up to this are small.
pub(crate) const SMALL_LIMIT: u64 = 1 << 20;

/// Counts of one class: 0 is small, 1 is large.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Class {
    pub(crate) blocks: u64,
    pub(crate) bytes: u64,
    pub(crate) allocations: u64,
    pub(crate) allocated_bytes: u64,
    pub(crate) frees: u64,
    pub(crate) freed_bytes: u64,
}

/// What a lane has given and taken back.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Tally {
    pub(crate) classes: [Class; 2],
    /// What was asked for, of live blocks.
    pub(crate) requested: u64,
    /// Live blocks at most.
    pub(crate) peak_blocks: u64,
    /// Bytes that were given back and wait for other streams.
    pub(crate) waiting: u64,
}

impl Tally {
    #[inline]
    pub(crate) fn given(&mut self, size: u64, requested: u64) {
        let class = &mut self.classes[usize::from(size > SMALL_LIMIT)];
        class.blocks += 1;
        class.bytes += size;
        class.allocations += 1;
        class.allocated_bytes += size;
        self.requested += requested;
        self.peak_blocks = self.peak_blocks.max(self.blocks());
    }

    #[inline]
    pub(crate) fn taken_back(&mut self, size: u64, requested: u64) {
        let class = &mut self.classes[usize::from(size > SMALL_LIMIT)];
        class.blocks -= 1;
        class.bytes -= size;
        class.frees += 1;
        class.freed_bytes += size;
        self.requested -= requested;
    }

    /// Live blocks.
    pub(crate) fn blocks(&self) -> u64 {
        self.classes[0].blocks + self.classes[1].blocks
    }

    /// Peaks start at what is now.
    pub(crate) fn reset_peaks(&mut self) {
        self.peak_blocks = self.blocks();
    }

    /// What happened so far is forgotten; what is live stays.
    pub(crate) fn reset_totals(&mut self) {
        for class in &mut self.classes {
            let Class { blocks, bytes, .. } = *class;
            *class = Class { blocks, bytes, ..Class::default() };
        }
    }
}
