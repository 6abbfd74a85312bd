//! Sizes as small floating-point numbers: five bits of exponent, three of mantissa.

use crate::policy::ALIGNMENT;

/// How many bins there are.
pub(super) const BINS: usize = 256;

const MANTISSA_BITS: u32 = 3;
const MANTISSA: u64 = 1 << MANTISSA_BITS;

/// The bin of free blocks of that size: none in it is smaller than the bin's bound, which is not
/// above the size. The last bin holds everything from 3.75 TiB on.
pub(super) fn bin_of(size: u64) -> usize {
    let units = size / ALIGNMENT;
    if units < MANTISSA {
        return units as usize;
    }
    let exponent = units.ilog2() - MANTISSA_BITS;
    let mantissa = units >> exponent & (MANTISSA - 1);
    let bin = (u64::from(exponent + 1) << MANTISSA_BITS) + mantissa;
    (bin as usize).min(BINS - 1)
}

/// Whether every block in a size's bin is large enough for it, or only some.
pub(super) fn is_bound_of(size: u64, bin: usize) -> bool {
    bound(bin) >= size
}

/// The smallest size in a bin.
fn bound(bin: usize) -> u64 {
    let bin = bin as u64;
    let (exponent, mantissa) = (bin >> MANTISSA_BITS, bin & (MANTISSA - 1));
    match exponent {
        0 => mantissa * ALIGNMENT,
        _ => ((MANTISSA + mantissa) << (exponent - 1)) * ALIGNMENT,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_rise_and_are_in_their_own_bin() {
        for bin in 1..BINS {
            assert!(bound(bin - 1) < bound(bin));
            assert_eq!(bin_of(bound(bin)), bin);
            assert_eq!(bin_of(bound(bin) - ALIGNMENT), bin - 1);
            assert!(is_bound_of(bound(bin), bin) && !is_bound_of(bound(bin) + 1, bin));
        }
        assert_eq!(bound(BINS - 1), 15 << 38, "3.75 TiB");
        assert_eq!(bin_of(u64::MAX), BINS - 1);
    }

    #[test]
    fn a_bin_is_an_eighth_wide_at_most() {
        for bin in 8..BINS - 1 {
            assert!(bound(bin + 1) - bound(bin) <= bound(bin) / 8);
        }
    }
}
