//! Random numbers that a seed repeats.

/// The largest request.
const LARGEST: u64 = 256 << 20;

/// Xorshift: good enough to choose what to do next.
pub(super) struct Random(u64);

impl Random {
    pub(super) fn new(seed: u64) -> Self {
        // Zero is the one state that it never leaves; the factor spreads seeds that are neighbours.
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// A number below a bound.
    pub(super) fn below(&mut self, bound: u64) -> u64 {
        (self.next() >> 11) % bound.max(1)
    }

    /// A place in a list.
    pub(super) fn index(&mut self, length: usize) -> usize {
        self.below(length as u64) as usize
    }

    /// Takes something out of a list, if there is anything.
    pub(super) fn take<T>(&mut self, list: &mut Vec<T>) -> Option<T> {
        if list.is_empty() { None } else { Some(list.swap_remove(self.index(list.len()))) }
    }

    /// A size from one byte up, each order of magnitude as likely as the others.
    pub(super) fn size(&mut self) -> usize {
        let magnitude = LARGEST >> self.below(29);
        (magnitude - self.below(magnitude / 2)) as usize
    }
}
