//! Arithmetic on floating-point numbers.
//!
//! Results are rounded to nearest. Approximations (`.approx`, `.full`) are computed exactly and rounded, so
//! they can differ from a device's in the last places.

use half::{bf16, f16};

use super::{Class, Kind};

/// What devices write for every result that is no number.
const NAN_16: u64 = 0x7fff;
const NAN_32: u64 = 0x7fff_ffff;

/// What is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Float {
    Add,
    Sub,
    Mul,
    Fma,
    Div,
    Min,
    Max,
    Abs,
    Neg,
    Sqrt,
    ReciprocalSqrt,
    Reciprocal,
    Exp2,
    Log2,
    Sin,
    Cos,
    Tanh,
    CopySign,
}

/// How it is computed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Manner {
    /// Numbers too small to be normal count as zero.
    pub(crate) flush: bool,
    /// Between 0 and 1.
    pub(crate) saturate: bool,
    /// Minimum and maximum are no number where one of the two is none.
    pub(crate) keep_nan: bool,
}

impl Float {
    pub(crate) fn apply(self, kind: Kind, manner: Manner, values: [u64; 3]) -> u64 {
        if !kind.packed {
            return self.apply_one(kind, manner, values);
        }
        let part = Kind { packed: false, ..kind };
        let low = self.apply_one(part, manner, values.map(|value| value & part.mask()));
        let high = self.apply_one(part, manner, values.map(|value| value >> part.bits()));
        low | high << part.bits()
    }

    fn apply_one(self, kind: Kind, manner: Manner, [a, b, c]: [u64; 3]) -> u64 {
        // Signs change without a look at the rest, also of what is no number.
        match self {
            Self::Neg => return (a ^ sign(kind)) & kind.mask(),
            Self::Abs => return a & !sign(kind) & kind.mask(),
            // The first operand gives the sign.
            Self::CopySign => return (b & !sign(kind) | a & sign(kind)) & kind.mask(),
            _ => {}
        }
        let number = |value| flushed(kind, manner, real(kind, value));
        let (a, b, c) = (number(a), number(b), number(c));
        let exact = match (kind.class, kind.bytes) {
            (Class::Float, 8) => return self.double(manner, a, b, c).to_bits(),
            (Class::Float, 4) => f64::from(self.single(manner, a as f32, b as f32, c as f32)),
            // The product is exact in 64 bits. Other results of two halves are right when they are rounded
            // from 32 bits.
            _ if self == Self::Fma => a.mul_add(b, c),
            _ => f64::from(self.single(manner, a as f32, b as f32, c as f32)),
        };
        let exact = if manner.saturate { saturated(exact) } else { exact };
        bits(kind, flushed(kind, manner, exact))
    }

    fn single(self, manner: Manner, a: f32, b: f32, c: f32) -> f32 {
        match self {
            Self::Add => a + b,
            Self::Sub => a - b,
            Self::Mul => a * b,
            Self::Fma => a.mul_add(b, c),
            Self::Div => a / b,
            Self::Sqrt => a.sqrt(),
            Self::Reciprocal => a.recip(),
            _ => self.double(manner, f64::from(a), f64::from(b), f64::from(c)) as f32,
        }
    }

    fn double(self, manner: Manner, a: f64, b: f64, c: f64) -> f64 {
        match self {
            Self::Add => a + b,
            Self::Sub => a - b,
            Self::Mul => a * b,
            Self::Fma => a.mul_add(b, c),
            Self::Div => a / b,
            Self::Min | Self::Max => extreme(manner, a, b, self == Self::Max),
            Self::Sqrt => a.sqrt(),
            Self::ReciprocalSqrt => a.sqrt().recip(),
            Self::Reciprocal => a.recip(),
            Self::Exp2 => a.exp2(),
            Self::Log2 => a.log2(),
            Self::Sin => a.sin(),
            Self::Cos => a.cos(),
            Self::Tanh => a.tanh(),
            Self::Abs => a.abs(),
            Self::Neg => -a,
            Self::CopySign => b.copysign(a),
        }
    }
}

/// The smaller or the larger of two; zeros are ordered by their signs.
fn extreme(manner: Manner, a: f64, b: f64, larger: bool) -> f64 {
    match (a.is_nan(), b.is_nan()) {
        (false, false) => {
            let first = a.total_cmp(&b).is_gt() == larger;
            if first { a } else { b }
        }
        _ if manner.keep_nan => f64::NAN,
        (true, _) => b,
        (_, true) => a,
    }
}

fn saturated(value: f64) -> f64 {
    if value.is_nan() { 0.0 } else { value.clamp(0.0, 1.0) }
}

fn flushed(kind: Kind, manner: Manner, value: f64) -> f64 {
    let smallest = match (kind.class, kind.bytes) {
        (Class::Float, 2) => f64::from(f16::MIN_POSITIVE),
        _ => f64::from(f32::MIN_POSITIVE),
    };
    if manner.flush && value.abs() < smallest { 0.0_f64.copysign(value) } else { value }
}

/// The bit of the sign.
fn sign(kind: Kind) -> u64 {
    1 << (kind.bits() - 1)
}

/// The number that bits mean. 64 bits hold every one exactly.
pub(crate) fn real(kind: Kind, value: u64) -> f64 {
    match (kind.class, kind.bytes) {
        (Class::Brain, _) => bf16::from_bits(value as u16).to_f64(),
        (_, 2) => f16::from_bits(value as u16).to_f64(),
        (_, 4) => f64::from(f32::from_bits(value as u32)),
        _ => f64::from_bits(value),
    }
}

/// The bits of the nearest number of a type.
pub(crate) fn bits(kind: Kind, value: f64) -> u64 {
    match (kind.class, kind.bytes) {
        (_, 2) if value.is_nan() => NAN_16,
        (_, 4) if value.is_nan() => NAN_32,
        (Class::Brain, _) => bf16::from_f32(to_odd(value)).to_bits().into(),
        (_, 2) => f16::from_f32(to_odd(value)).to_bits().into(),
        (_, 4) => (value as f32).to_bits().into(),
        _ => value.to_bits(),
    }
}

/// A number of 32 bits that rounds on to fewer bits as the exact one does: where it is not exact, its last
/// bit is 1. (`from_f64` of half looks at the upper 32 bits only.)
fn to_odd(value: f64) -> f32 {
    let nearest = value as f32;
    let found = f64::from(nearest);
    if found == value || !nearest.is_finite() {
        return nearest;
    }
    let bits = nearest.to_bits();
    let toward_zero = if found.abs() > value.abs() { bits - 1 } else { bits };
    f32::from_bits(toward_zero | 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn apply(what: Float, kind: &str, manner: Manner, values: [f64; 3]) -> f64 {
        let kind = Kind::named(kind).expect("a type");
        real(kind, what.apply(kind, manner, values.map(|value| bits(kind, value))))
    }

    #[test]
    fn each_width_rounds_to_itself() {
        let manner = Manner::default();
        assert_eq!(apply(Float::Add, "f16", manner, [2048.0, 1.0, 0.0]), 2048.0);
        assert_eq!(apply(Float::Add, "bf16", manner, [256.0, 1.0, 0.0]), 256.0);
        assert_eq!(apply(Float::Add, "f32", manner, [16_777_216.0, 1.0, 0.0]), 16_777_216.0);
        assert_eq!(apply(Float::Add, "f64", manner, [16_777_216.0, 1.0, 0.0]), 16_777_217.0);
        let tiny = 2.0_f64.powi(-12);
        assert_eq!(
            apply(Float::Fma, "f32", manner, [1.0 + tiny, 1.0 + tiny, -1.0 - 2.0 * tiny]),
            tiny * tiny
        );
    }

    #[test]
    fn halves_are_rounded_once() {
        let half = Kind::named("f16").expect("a type");
        // Halfway between two halves, and a little more: the little decides.
        let halfway = 1.0 + 2.0_f64.powi(-11);
        assert_eq!(bits(half, halfway), 0x3c00);
        assert_eq!(bits(half, halfway + 2.0_f64.powi(-40)), 0x3c01);
        assert_eq!(bits(half, halfway - 2.0_f64.powi(-40)), 0x3c00);
        let brain = Kind::named("bf16").expect("a type");
        assert_eq!(bits(brain, -1.0 - 2.0_f64.powi(-8) - 2.0_f64.powi(-40)), 0xbf81);
    }

    #[test]
    fn what_is_no_number() {
        let (plain, keep) = (Manner::default(), Manner { keep_nan: true, ..Manner::default() });
        assert_eq!(apply(Float::Max, "f32", plain, [f64::NAN, 3.0, 0.0]), 3.0);
        assert!(apply(Float::Max, "f32", keep, [f64::NAN, 3.0, 0.0]).is_nan());
        let kind = Kind::named("f32").expect("a type");
        let (zero, none) = (0, Float::Div.apply(kind, plain, [0, 0, 0]));
        assert_eq!((zero, none), (0, NAN_32));
    }

    #[test]
    fn small_numbers_are_flushed_where_asked_for() {
        let flush = Manner { flush: true, ..Manner::default() };
        let small = f64::from(f32::from_bits(1));
        assert_eq!(apply(Float::Mul, "f32", Manner::default(), [small, 1.0, 0.0]), small);
        assert_eq!(apply(Float::Mul, "f32", flush, [small, 1.0, 0.0]), 0.0);
        let saturate = Manner { saturate: true, ..Manner::default() };
        assert_eq!(apply(Float::Add, "f32", saturate, [3.0, 1.0, 0.0]), 1.0);
    }

    #[test]
    fn two_in_one_register() {
        let kind = Kind::named("f32x2").expect("a type");
        let pack = |low: f32, high: f32| u64::from(low.to_bits()) | u64::from(high.to_bits()) << 32;
        let sum = Float::Add.apply(kind, Manner::default(), [pack(1.0, 2.0), pack(10.0, 20.0), 0]);
        assert_eq!(sum, pack(11.0, 22.0));
        assert_eq!(
            Float::Neg.apply(kind, Manner::default(), [pack(1.0, 2.0), 0, 0]),
            pack(-1.0, -2.0)
        );
    }
}
