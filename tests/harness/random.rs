//! Numbers that are the same in every run.

use std::ops::Range;

/// Xorshift.
#[derive(Debug, Clone)]
pub struct Random(u64);

impl Default for Random {
    fn default() -> Self {
        Self(0x2545_F491_4F6C_DD1D)
    }
}

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// A number in a range.
    pub fn within(&mut self, range: Range<u64>) -> u64 {
        range.start + (self.next() >> 1) % (range.end - range.start)
    }

    /// A share of one.
    pub fn share(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }
}
