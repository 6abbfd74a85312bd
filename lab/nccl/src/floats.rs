//! Floats of sixteen bits, computed as 32-bit ones. Pure.

/// Fraction bits that a half has less than a 32-bit float.
const HALF_SHIFT: u32 = 13;
/// The difference of the exponents' biases, 127 and 15.
const HALF_BIAS: i32 = 112;
/// The exponent of infinities and not-a-numbers, in a half.
const HALF_SPECIAL: u32 = 0x1f;

pub(crate) fn from_bfloat16(bytes: [u8; 2]) -> f32 {
    f32::from_bits(u32::from(u16::from_ne_bytes(bytes)) << 16)
}

/// Rounds to nearest, ties to even.
pub(crate) fn to_bfloat16(value: f32) -> [u8; 2] {
    let bits = value.to_bits();
    let rounded = if value.is_nan() { bits | 0x40_0000 } else { bits + 0x7fff + (bits >> 16 & 1) };
    ((rounded >> 16) as u16).to_ne_bytes()
}

pub(crate) fn from_half(bytes: [u8; 2]) -> f32 {
    let bits = u32::from(u16::from_ne_bytes(bytes));
    let (sign, exponent, fraction) = (bits & 0x8000, bits >> 10 & 0x1f, bits & 0x3ff);
    let magnitude = match exponent {
        0 => return f32::from_bits(sign << 16) + signed(sign, fraction as f32 * 2_f32.powi(-24)),
        HALF_SPECIAL => 0x7f80_0000 | fraction << HALF_SHIFT,
        _ => (exponent + HALF_BIAS as u32) << 23 | fraction << HALF_SHIFT,
    };
    f32::from_bits(sign << 16 | magnitude)
}

fn signed(sign: u32, magnitude: f32) -> f32 {
    if sign == 0 { magnitude } else { -magnitude }
}

/// Rounds to nearest, ties to even.
pub(crate) fn to_half(value: f32) -> [u8; 2] {
    let bits = value.to_bits();
    let sign = (bits >> 16 & 0x8000) as u16;
    let magnitude = bits & 0x7fff_ffff;
    let exponent = (magnitude >> 23) as i32 - HALF_BIAS;
    let half = if value.is_nan() {
        0x7e00
    } else if exponent >= HALF_SPECIAL as i32 {
        0x7c00
    } else if exponent > 0 {
        rounded(magnitude - ((HALF_BIAS as u32) << 23), HALF_SHIFT)
    } else if exponent > -11 {
        rounded(magnitude & 0x7f_ffff | 0x80_0000, (14 - exponent) as u32)
    } else {
        0
    };
    (sign | half).to_ne_bytes()
}

/// The upper bits, rounded by the lower ones; a carry into the exponent is the next power of two.
fn rounded(bits: u32, shift: u32) -> u16 {
    let half = (1 << (shift - 1)) - 1;
    ((bits + half + (bits >> shift & 1)) >> shift) as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_half_is_itself_again() {
        for bits in 0..=u16::MAX {
            let value = from_half(bits.to_ne_bytes());
            let again = u16::from_ne_bytes(to_half(value));
            assert!(again == bits || value.is_nan(), "{bits:#06x} becomes {again:#06x}");
        }
    }

    #[test]
    fn every_bfloat16_is_itself_again() {
        for bits in 0..=u16::MAX {
            let value = from_bfloat16(bits.to_ne_bytes());
            let again = u16::from_ne_bytes(to_bfloat16(value));
            assert!(again == bits || value.is_nan(), "{bits:#06x} becomes {again:#06x}");
        }
    }

    #[test]
    fn values_are_rounded_to_nearest() {
        assert_eq!(from_half(0x3c00_u16.to_ne_bytes()), 1.0);
        assert_eq!(to_half(1.0 + 2_f32.powi(-11)), 0x3c00_u16.to_ne_bytes(), "a tie, to even");
        assert_eq!(to_half(1.0 + 3.0 * 2_f32.powi(-11)), 0x3c02_u16.to_ne_bytes());
        assert_eq!(to_half(65_520.0), 0x7c00_u16.to_ne_bytes(), "infinity");
        assert_eq!(to_half(2_f32.powi(-26)), [0, 0]);
        assert_eq!(to_bfloat16(1.0 + 2_f32.powi(-8)), 0x3f80_u16.to_ne_bytes(), "a tie, to even");
    }
}
