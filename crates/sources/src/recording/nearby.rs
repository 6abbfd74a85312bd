//! The segment around an address, found again without a search.

use std::ops::Range;

use whyoom_trace::PoolId;

/// PyTorch's segments are made of such pieces.
const PIECE: u32 = 21;
/// Pieces that are remembered, each in a place of its own: 8 GiB of segments, in 128 KiB.
const PLACES: usize = 4096;
/// Searches after which it is worth its room.
const WORTH: u32 = 4096;

/// A part of a segment.
#[derive(Clone, Copy, Debug, Default)]
struct Near {
    start: u64,
    end: u64,
    pool: PoolId,
    /// When it was put here: what was put before the last [`Nearby::forget`] counts no more.
    version: u32,
}

/// Where blocks were found lately. A training run puts blocks where it put some in the step before.
#[derive(Debug, Default)]
pub(super) struct Nearby {
    places: Vec<Near>,
    version: u32,
    searches: u32,
}

impl Nearby {
    /// The pool of the segment around an address.
    #[inline]
    pub(super) fn get(&self, address: u64) -> Option<PoolId> {
        let near = self.places.get(place(address))?;
        let is_there = near.version == self.version && (near.start..near.end).contains(&address);
        is_there.then_some(near.pool)
    }

    /// Remembers that a segment lies there, all of which has no other inside.
    pub(super) fn put(&mut self, segment: Range<u64>, address: u64, pool: PoolId) {
        self.searches = self.searches.saturating_add(1);
        if self.searches < WORTH {
            return;
        }
        self.places.resize(PLACES, Near::default());
        let Range { start, end } = segment;
        self.places[place(address)] = Near { start, end, pool, version: self.version };
    }

    /// Segments came or went.
    pub(super) fn forget(&mut self) {
        self.version = self.version.wrapping_add(1);
        if self.version == 0 {
            // What is older than all versions would be taken for new.
            self.places.clear();
        }
    }
}

fn place(address: u64) -> usize {
    (address >> PIECE) as usize % PLACES
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_segment_is_known_until_one_comes_or_goes() {
        let (mut nearby, pool) = (Nearby::default(), PoolId(7));
        let (start, end) = (3 << PIECE, 5 << PIECE);
        nearby.put(start..end, start, pool);
        assert_eq!(nearby.get(start), None, "few searches are not worth it");
        (0..WORTH).for_each(|_| nearby.put(start..end, start, pool));
        assert_eq!(nearby.get(start + 5), Some(pool));
        assert_eq!(nearby.get(end - 1), None, "that piece was not asked for");
        nearby.put(start..end, end - 1, pool);
        assert_eq!(nearby.get(end - 1), Some(pool));
        let same_place = start + ((PLACES as u64) << PIECE);
        assert_eq!(nearby.get(same_place), None, "another address in the same place");
        nearby.forget();
        assert_eq!(nearby.get(start + 5), None);
    }
}
