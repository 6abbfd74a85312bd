//! A stack as one number, by which it is known again.

use crate::frames::Raw;

/// Stands for the frames of a stack. Two lanes of 64 bits: two stacks never had the same by chance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Fingerprint(pub [u64; 2]);

/// Odd numbers without a pattern, one for each lane.
const LANES: [u64; 2] = [0x9e37_79b9_7f4a_7c15, 0xd6e8_feb8_6659_fd93];
/// Tells an address from a Python code object at the same one.
const NATIVE: u64 = 1 << 40;
const PYTHON: u64 = 1 << 41;

impl Fingerprint {
    /// That of no frames.
    pub const EMPTY: Self = Self(LANES);

    /// That of frames, innermost first.
    #[must_use]
    pub fn of(frames: &[Raw]) -> Self {
        frames.iter().fold(Self::EMPTY, |print, frame| match *frame {
            Raw::Native(address) => print.native(address),
            Raw::Python { code, position } => print.python(code, position),
        })
    }

    /// With two words more. By hand and not by a hasher, which would gather the words first: this is
    /// done for every Python frame of every event.
    #[must_use]
    #[inline]
    pub fn with(self, one: u64, other: u64) -> Self {
        let mix = |lane: u64, odd: u64| {
            let product = u128::from(lane ^ one) * u128::from(lane.rotate_left(32) ^ other ^ odd);
            (product as u64) ^ (product >> 64) as u64
        };
        Self([mix(self.0[0], LANES[0]), mix(self.0[1], LANES[1])])
    }

    #[inline]
    pub(crate) fn native(self, address: u64) -> Self {
        self.with(address, NATIVE)
    }

    #[inline]
    pub(crate) fn python(self, code: usize, position: i32) -> Self {
        self.with(code as u64, PYTHON | u64::from(position.cast_unsigned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_frame_counts_and_so_does_their_order() {
        let code = 0x7000_0000_1000;
        let (native, python) =
            (Raw::Native(code), Raw::Python { code: code as usize, position: 0 });
        let other = Raw::Python { code: code as usize, position: 2 };
        let stacks: [&[Raw]; 7] = [
            &[],
            &[native],
            &[python],
            &[other],
            &[native, python],
            &[python, native],
            &[native, native],
        ];
        for (place, one) in stacks.iter().enumerate() {
            for other in &stacks[..place] {
                let (one, other) = (Fingerprint::of(one), Fingerprint::of(other));
                assert!(one.0[0] != other.0[0] && one.0[1] != other.0[1]);
            }
        }
    }

    #[test]
    fn near_addresses_have_far_fingerprints() {
        let prints: Vec<u64> = (0..100_000)
            .map(|n| Fingerprint::of(&[Raw::Native(0x55_0000 + n)]).0[0] >> 32)
            .collect();
        let mut distinct = prints.clone();
        distinct.sort_unstable();
        distinct.dedup();
        assert!(distinct.len() > 99_980, "{} of 100000 upper halves", distinct.len());
    }
}
