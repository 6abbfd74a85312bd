//! Conversions between types, in their rounding modes.

use super::{Class, Kind, float};

/// Where a value between two others goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rounding {
    Nearest,
    TowardZero,
    Down,
    Up,
}

impl Rounding {
    fn to_whole(self, value: f64) -> f64 {
        match self {
            Self::Nearest => value.round_ties_even(),
            Self::TowardZero => value.trunc(),
            Self::Down => value.floor(),
            Self::Up => value.ceil(),
        }
    }

    /// Whether the nearest value went the wrong way.
    fn misses(self, exact: f64, nearest: f64) -> bool {
        match self {
            Self::Nearest => false,
            Self::TowardZero => nearest.abs() > exact.abs(),
            Self::Down => nearest > exact,
            Self::Up => nearest < exact,
        }
    }
}

/// A conversion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Conversion {
    pub(crate) to: Kind,
    pub(crate) from: Kind,
    pub(crate) rounding: Rounding,
    /// To whole numbers, also where the result is a floating-point number.
    pub(crate) to_whole: bool,
    /// Whole numbers stay within the type's, floating-point numbers between 0 and 1.
    pub(crate) saturate: bool,
}

impl Conversion {
    pub(crate) fn apply(self, value: u64) -> u64 {
        let Self { to, from, .. } = self;
        match (from.is_float(), to.is_float()) {
            (false, false) => self.whole(integer(from, value)),
            (false, true) => self.real_of_integer(integer(from, value)),
            (true, false) => {
                let rounded = self.rounding.to_whole(float::real(from, value));
                // Rust's conversion stays within 128 bits, and what is no number is 0.
                Self { saturate: true, ..self }.whole(rounded as i128)
            }
            (true, true) => self.real(float::real(from, value)),
        }
    }

    fn whole(self, value: i128) -> u64 {
        let value = if self.saturate {
            let (bits, signed) = (self.to.bits(), self.to.is_signed());
            let (least, most) = if signed {
                (-1 << (bits - 1), (1 << (bits - 1)) - 1)
            } else {
                (0, (1 << bits) - 1)
            };
            value.clamp(least, most)
        } else {
            value
        };
        value.cast_unsigned() as u64 & self.to.mask()
    }

    /// 64 bits do not hold every whole number of 64 bits: what has 32 is rounded once.
    fn real_of_integer(self, value: i128) -> u64 {
        let is_single = self.to.class == Class::Float && self.to.bytes == 4;
        if is_single && self.rounding == Rounding::Nearest {
            return (value as f32).to_bits().into();
        }
        self.real(value as f64)
    }

    fn real(self, value: f64) -> u64 {
        let value = if self.to_whole { self.rounding.to_whole(value) } else { value };
        let value = match self.saturate {
            true if value.is_nan() => 0.0,
            true => value.clamp(0.0, 1.0),
            false => value,
        };
        let nearest = float::bits(self.to, value);
        let found = float::real(self.to, nearest);
        if !self.rounding.misses(value, found) {
            return nearest;
        }
        // The neighbour: away from zero is the next higher bits, whatever the sign.
        let away = (found < value) == (value > 0.0);
        if away { nearest + 1 } else { nearest - 1 }
    }
}

fn integer(kind: Kind, value: u64) -> i128 {
    if kind.is_signed() { kind.signed(value).into() } else { (value & kind.mask()).into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn conversion(to: &str, from: &str, rounding: Rounding) -> Conversion {
        let kind = |name| Kind::named(name).expect("a type");
        Conversion { to: kind(to), from: kind(from), rounding, to_whole: false, saturate: false }
    }

    #[test]
    fn whole_numbers_extend_truncate_and_saturate() {
        let nearest = Rounding::Nearest;
        assert_eq!(conversion("s64", "s32", nearest).apply(0xffff_fffe), u64::MAX - 1);
        assert_eq!(conversion("u64", "u32", nearest).apply(0xffff_fffe), 0xffff_fffe);
        assert_eq!(conversion("u8", "s32", nearest).apply(0x1ff), 0xff);
        let saturate = Conversion { saturate: true, ..conversion("s8", "s32", nearest) };
        assert_eq!(saturate.apply(300), 127);
    }

    #[test]
    fn to_whole_numbers() {
        let value = u64::from((-2.5_f32).to_bits());
        let cases = [
            (Rounding::Nearest, -2),
            (Rounding::TowardZero, -2),
            (Rounding::Down, -3),
            (Rounding::Up, -2),
        ];
        for (rounding, whole) in cases {
            let found = conversion("s32", "f32", rounding).apply(value);
            assert_eq!(found as u32 as i32, whole, "{rounding:?}");
        }
        let far = u64::from(1e20_f32.to_bits());
        assert_eq!(conversion("s32", "f32", Rounding::TowardZero).apply(far), 0x7fff_ffff);
        assert_eq!(
            conversion("s32", "f32", Rounding::TowardZero).apply(u64::from(f32::NAN.to_bits())),
            0
        );
    }

    #[test]
    fn to_narrower_ones_in_each_mode() {
        // 1 + 3/4 of the last place of f16, and its negative.
        let above = 1.0 + 0.75 / 1024.0;
        let narrow =
            |value: f32, rounding| conversion("f16", "f32", rounding).apply(value.to_bits().into());
        assert_eq!(narrow(above, Rounding::Nearest), 0x3c01);
        assert_eq!(narrow(above, Rounding::TowardZero), 0x3c00);
        assert_eq!(narrow(above, Rounding::Down), 0x3c00);
        assert_eq!(narrow(above, Rounding::Up), 0x3c01);
        assert_eq!(narrow(-above, Rounding::Down), 0xbc01);
        assert_eq!(narrow(-above, Rounding::Up), 0xbc00);
        assert_eq!(narrow(1.0 + 0.25 / 1024.0, Rounding::Up), 0x3c01);
        assert_eq!(narrow(-1.0 - 0.25 / 1024.0, Rounding::Down), 0xbc01);
        assert_eq!(narrow(1e9, Rounding::TowardZero), 0x7bff);
        assert_eq!(narrow(1e9, Rounding::Nearest), 0x7c00);
    }

    #[test]
    fn from_whole_numbers() {
        let most = conversion("f32", "u64", Rounding::Nearest).apply(u64::MAX);
        assert_eq!(f32::from_bits(most as u32), 18_446_744_073_709_551_616.0);
        let negative = conversion("f16", "s32", Rounding::Nearest).apply(0xffff_ffff);
        assert_eq!(negative, 0xbc00);
    }
}
