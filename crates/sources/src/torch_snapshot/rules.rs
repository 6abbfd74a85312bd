//! How PyTorch's allocator turns a requested size into a block's: the trace tells the one, the
//! program's memory holds the other.

use whyoom_trace::{Bytes, SizeClass};

const MIN_BLOCK: u64 = 512;
const SMALL_SEGMENT: u64 = 2 << 20;
/// A large block's remainder up to this is not split off.
pub(super) const LARGE_REMAINDER: u64 = 1 << 20;
const ROUNDING_INTERVALS: usize = 16;

/// The settings that decide a block's size.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Rules {
    power2_divisions: [u64; ROUNDING_INTERVALS],
    max_split: Option<u64>,
}

impl Rules {
    pub(super) fn of(settings: &[(String, String)]) -> Self {
        let mut rules = Self::default();
        for (name, value) in settings {
            if name == "max_split_size" {
                // −1 stands for no limit, and does not parse.
                rules.max_split = value.parse().ok();
            } else if let Some(interval) = name.strip_prefix("roundup_power2_divisions.") {
                rules.set_divisions(interval, value);
            }
        }
        rules
    }

    /// The interval is named by its lower bound in MiB: 1, 2, 4 … 32768.
    fn set_divisions(&mut self, interval: &str, value: &str) {
        let mebibytes = interval.parse::<u64>().ok().filter(|number| number.is_power_of_two());
        let index = mebibytes.map(|number| number.ilog2() as usize);
        let slot = index.and_then(|index| self.power2_divisions.get_mut(index));
        if let (Some(slot), Ok(divisions)) = (slot, value.parse()) {
            *slot = divisions;
        }
    }

    /// What a request is rounded up to.
    pub(super) fn round(&self, requested: Bytes) -> Bytes {
        let size = requested.0.max(MIN_BLOCK);
        let interval = (size.ilog2() as usize).saturating_sub(20).min(ROUNDING_INTERVALS - 1);
        let divisions = self.power2_divisions[interval];
        if divisions > 1 && size > MIN_BLOCK.saturating_mul(divisions) {
            return Bytes(round_to_division(size, divisions));
        }
        Bytes(size.checked_next_multiple_of(MIN_BLOCK).unwrap_or(u64::MAX))
    }

    /// Whether a block of a fixed, large segment keeps the `remainder` behind it.
    pub(super) fn keeps_remainder(&self, rounded: Bytes, remainder: Bytes) -> bool {
        remainder.0 <= LARGE_REMAINDER || self.max_split.is_some_and(|limit| rounded.0 >= limit)
    }
}

/// Up to the next of `divisions` steps between two powers of two.
fn round_to_division(size: u64, divisions: u64) -> u64 {
    if size.is_power_of_two() {
        return size;
    }
    let floor = 1 << size.ilog2();
    let step = floor >> divisions.ilog2();
    size.checked_next_multiple_of(step.max(1)).unwrap_or(u64::MAX)
}

/// Which requests a segment that was made in one piece of that size serves: small ones are made, and
/// mapped, in pieces of 2 MiB, and large ones never are.
pub(super) fn class_of_segment(size: Bytes) -> SizeClass {
    if size.0 == SMALL_SEGMENT { SizeClass::Small } else { SizeClass::Large }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(settings: &[(&str, &str)]) -> Rules {
        let owned: Vec<_> = settings.iter().map(|&(n, v)| (n.into(), v.into())).collect();
        Rules::of(&owned)
    }

    #[test]
    fn sizes_round_to_512() {
        let rules = Rules::default();
        assert_eq!(rules.round(Bytes(0)), Bytes(512));
        assert_eq!(rules.round(Bytes(513)), Bytes(1024));
        assert_eq!(rules.round(Bytes(20_480_000)), Bytes(20_480_000));
        assert_eq!(rules.round(Bytes(u64::MAX)), Bytes(u64::MAX));
    }

    #[test]
    fn divisions_apply_to_their_interval() {
        let rules = rules(&[("roundup_power2_divisions.1", "4"), ("max_split_size", "-1")]);
        // Documented example: 1200 with 4 divisions lies in 1024..2048, whose steps are 256.
        assert_eq!(rules.round(Bytes(1200 << 10)), Bytes(1280 << 10));
        assert_eq!(rules.round(Bytes(1 << 20)), Bytes(1 << 20));
        assert_eq!(rules.round(Bytes(3 << 20)), Bytes(3 << 20), "another interval");
        assert!(!rules.keeps_remainder(Bytes(64 << 20), Bytes(2 << 20)));
    }

    #[test]
    fn a_block_that_may_not_be_split_keeps_everything() {
        let rules = rules(&[("max_split_size", "33554432")]);
        assert!(rules.keeps_remainder(Bytes(33_554_432), Bytes(100 << 20)));
        assert!(!rules.keeps_remainder(Bytes(33_553_920), Bytes(100 << 20)));
        assert!(rules.keeps_remainder(Bytes(512), Bytes(1 << 20)));
    }
}
