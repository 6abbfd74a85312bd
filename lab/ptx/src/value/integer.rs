//! Arithmetic on whole numbers and bits.

use super::{Class, Kind};

/// What is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Integer {
    Add,
    Sub,
    MulLow,
    MulHigh,
    MulWide,
    MadLow,
    MadHigh,
    MadWide,
    Div,
    Rem,
    Min,
    Max,
    Abs,
    Neg,
    And,
    Or,
    Xor,
    Not,
    ShiftLeft,
    ShiftRight,
    Ones,
    LeadingZeros,
    Highest,
    Reverse,
    Extract,
    Insert,
    Permute,
    FunnelLeft,
    FunnelRight,
    FunnelLeftWrapped,
    FunnelRightWrapped,
}

impl Integer {
    /// The result in as many bits as the type has; wide products have twice as many.
    pub(crate) fn apply(self, kind: Kind, [a, b, c, d]: [u64; 4]) -> u64 {
        let mask = kind.mask();
        let (a, b) = (a & mask, if self.is_shift() { b & 0xffff_ffff } else { b & mask });
        let result = match self {
            Self::Add => a.wrapping_add(b),
            Self::Sub => a.wrapping_sub(b),
            Self::MulLow => a.wrapping_mul(b),
            Self::MadLow => a.wrapping_mul(b).wrapping_add(c),
            Self::MulHigh => high(kind, a, b),
            Self::MadHigh => high(kind, a, b).wrapping_add(c),
            Self::MulWide => return wide(kind, a, b),
            Self::MadWide => return wide(kind, a, b).wrapping_add(c) & mask_of_twice(kind),
            Self::Div | Self::Rem => divided(kind, a, b, self == Self::Rem),
            Self::Min | Self::Max => {
                let less = if kind.is_signed() { kind.signed(a) < kind.signed(b) } else { a < b };
                if less == (self == Self::Min) { a } else { b }
            }
            Self::Abs => kind.signed(a).unsigned_abs(),
            Self::Neg => a.wrapping_neg(),
            Self::And => a & b,
            Self::Or => a | b,
            Self::Xor => a ^ b,
            Self::Not => !a,
            Self::ShiftLeft => a.checked_shl(b as u32).unwrap_or(0),
            Self::ShiftRight => shifted_right(kind, a, b as u32),
            Self::Ones => return a.count_ones().into(),
            Self::LeadingZeros => return (a.leading_zeros() - (64 - kind.bits())).into(),
            Self::Highest => return highest(kind, a),
            Self::Reverse => a.reverse_bits() >> (64 - kind.bits()),
            Self::Extract => extracted(kind, a, b, c),
            Self::Insert => inserted(kind, a, b, c, d),
            Self::Permute => permuted(a, b, c),
            Self::FunnelLeft => funnel(a, b, (c as u32).min(32)) >> 32,
            Self::FunnelLeftWrapped => funnel(a, b, c as u32 & 31) >> 32,
            Self::FunnelRight => joined(a, b).checked_shr((c as u32).min(32)).unwrap_or(0),
            Self::FunnelRightWrapped => joined(a, b) >> (c & 31),
        };
        result & mask
    }

    fn is_shift(self) -> bool {
        matches!(self, Self::ShiftLeft | Self::ShiftRight)
    }
}

fn mask_of_twice(kind: Kind) -> u64 {
    Kind::new(Class::Bits, kind.bytes * 2).mask()
}

fn product(kind: Kind, a: u64, b: u64) -> u128 {
    if kind.is_signed() {
        (i128::from(kind.signed(a)) * i128::from(kind.signed(b))).cast_unsigned()
    } else {
        u128::from(a) * u128::from(b)
    }
}

fn high(kind: Kind, a: u64, b: u64) -> u64 {
    (product(kind, a, b) >> kind.bits()) as u64
}

fn wide(kind: Kind, a: u64, b: u64) -> u64 {
    product(kind, a, b) as u64 & mask_of_twice(kind)
}

/// Division by zero gives no defined value; all ones, and the dividend as remainder, is what devices give.
fn divided(kind: Kind, a: u64, b: u64, remainder: bool) -> u64 {
    if b == 0 {
        return if remainder { a } else { u64::MAX };
    }
    if kind.is_signed() {
        let (a, b) = (kind.signed(a), kind.signed(b));
        let result = if remainder { a.wrapping_rem(b) } else { a.wrapping_div(b) };
        return result.cast_unsigned();
    }
    if remainder { a % b } else { a / b }
}

fn shifted_right(kind: Kind, a: u64, by: u32) -> u64 {
    if kind.is_signed() {
        (kind.signed(a) >> by.min(63)).cast_unsigned()
    } else {
        a.checked_shr(by).unwrap_or(0)
    }
}

/// The place of the highest bit that is not the sign.
fn highest(kind: Kind, a: u64) -> u64 {
    let negative = kind.is_signed() && kind.signed(a) < 0;
    let a = if negative { !a & kind.mask() } else { a };
    if a == 0 { 0xffff_ffff } else { u64::from(63 - a.leading_zeros()) }
}

fn extracted(kind: Kind, a: u64, start: u64, length: u64) -> u64 {
    let (start, length) = ((start & 0xff) as u32, (length & 0xff) as u32);
    if length == 0 {
        return 0;
    }
    let found = a.checked_shr(start).unwrap_or(0);
    let kept = if length >= 64 { found } else { found & ((1 << length) - 1) };
    if !kind.is_signed() {
        return kept;
    }
    let sign = (start + length - 1).min(kind.bits() - 1);
    let negative = a >> sign & 1 == 1;
    let shown = length.min(kind.bits().saturating_sub(start));
    let above = if shown >= 64 { 0 } else { u64::MAX << shown };
    if negative { kept | above } else { kept }
}

fn inserted(kind: Kind, a: u64, b: u64, start: u64, length: u64) -> u64 {
    let (start, length) = ((start & 0xff) as u32, (length & 0xff) as u32);
    let ones = if length >= 64 { u64::MAX } else { (1 << length) - 1 };
    let place = ones.checked_shl(start).unwrap_or(0) & kind.mask();
    let moved = a.checked_shl(start).unwrap_or(0);
    b & !place | moved & place
}

/// Bytes of two words, chosen by four digits; the highest bit of a digit repeats the byte's sign.
fn permuted(a: u64, b: u64, choice: u64) -> u64 {
    let bytes = joined(a, b).to_le_bytes();
    let chosen = |place: u32| {
        let digit = choice >> (4 * place) & 0xf;
        let byte = bytes[(digit & 7) as usize];
        let sign = if byte & 0x80 == 0 { 0 } else { 0xff };
        u64::from(if digit & 8 == 0 { byte } else { sign }) << (8 * place)
    };
    (0..4).map(chosen).sum()
}

fn joined(low: u64, high: u64) -> u64 {
    low & 0xffff_ffff | high << 32
}

fn funnel(low: u64, high: u64, by: u32) -> u64 {
    joined(low, high) << by
}

#[cfg(test)]
mod tests {
    use super::*;

    fn apply(what: Integer, kind: &str, values: [i64; 4]) -> u64 {
        what.apply(Kind::named(kind).expect("a type"), values.map(i64::cast_unsigned))
    }

    #[test]
    fn arithmetic_wraps_at_its_width() {
        assert_eq!(apply(Integer::Add, "s32", [-1, -1, 0, 0]), 0xffff_fffe);
        assert_eq!(apply(Integer::MulWide, "s32", [-2, 3, 0, 0]), (-6_i64).cast_unsigned());
        assert_eq!(apply(Integer::MulWide, "u16", [0xffff, 0xffff, 0, 0]), 0xfffe_0001);
        assert_eq!(apply(Integer::MulHigh, "u64", [-1, 2, 0, 0]), 1);
        assert_eq!(apply(Integer::MadWide, "s32", [-1, 4, 8, 0]), 4);
        assert_eq!(apply(Integer::Div, "s32", [i64::from(i32::MIN), -1, 0, 0]), 0x8000_0000);
        assert_eq!(apply(Integer::Rem, "s64", [-7, 2, 0, 0]), u64::MAX);
        assert_eq!(apply(Integer::Div, "u32", [7, 0, 0, 0]), 0xffff_ffff);
        assert_eq!(apply(Integer::Min, "s16", [-5, 4, 0, 0]), 0xfffb);
        assert_eq!(apply(Integer::Min, "u16", [-5, 4, 0, 0]), 4);
    }

    #[test]
    fn shifts_by_more_than_the_width() {
        assert_eq!(apply(Integer::ShiftLeft, "b32", [1, 40, 0, 0]), 0);
        assert_eq!(apply(Integer::ShiftRight, "s32", [-8, 40, 0, 0]), 0xffff_ffff);
        assert_eq!(apply(Integer::ShiftRight, "u32", [-8, 1, 0, 0]), 0x7fff_fffc);
        assert_eq!(apply(Integer::FunnelLeft, "b32", [0x8000_0000, 1, 1, 0]), 3);
        assert_eq!(apply(Integer::FunnelRightWrapped, "b32", [2, 1, 33, 0]), 0x8000_0001);
    }

    #[test]
    fn bit_fields() {
        assert_eq!(apply(Integer::Extract, "u32", [0x1234, 4, 8, 0]), 0x23);
        assert_eq!(apply(Integer::Extract, "s32", [0xf0, 4, 4, 0]), 0xffff_ffff);
        assert_eq!(apply(Integer::Insert, "b32", [0xab, 0x1111_1111, 8, 8]), 0x1111_ab11);
        assert_eq!(
            apply(Integer::Permute, "b32", [0x4433_2211, 0x8877_6655, 0x7540, 0]),
            0x8866_5511
        );
        assert_eq!(apply(Integer::Permute, "b32", [0x80, 0, 0x8, 0]), 0x8080_80ff);
        assert_eq!(apply(Integer::LeadingZeros, "b32", [1, 0, 0, 0]), 31);
        assert_eq!(apply(Integer::Highest, "u32", [0, 0, 0, 0]), 0xffff_ffff);
        assert_eq!(apply(Integer::Reverse, "b32", [1, 0, 0, 0]), 0x8000_0000);
        assert_eq!(apply(Integer::Not, "pred", [1, 0, 0, 0]), 0);
    }
}
