//! The arithmetic of reductions, on bytes. Pure.

use crate::{
    floats::{from_bfloat16, from_half, to_bfloat16, to_half},
    frame::is_zero,
};

/// `ncclRedOp_t`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operator {
    Sum,
    Product,
    Max,
    Min,
    Average,
}

impl Operator {
    /// The built-in operator of a number.
    pub(crate) fn of(number: u32) -> Option<Self> {
        use Operator::{Average, Max, Min, Product, Sum};
        [Sum, Product, Max, Min, Average].get(number as usize).copied()
    }
}

/// What can be reduced.
trait Number: Copy {
    fn combine(self, other: Self, operator: Operator) -> Self;
    fn times(self, factor: Self) -> Self;
    fn divided(self, by: u32) -> Self;
}

macro_rules! integers {
    ($($type:ty)*) => {$(
        impl Number for $type {
            fn combine(self, other: Self, operator: Operator) -> Self {
                match operator {
                    Operator::Sum | Operator::Average => self.wrapping_add(other),
                    Operator::Product => self.wrapping_mul(other),
                    Operator::Max => self.max(other),
                    Operator::Min => self.min(other),
                }
            }
            fn times(self, factor: Self) -> Self {
                self.wrapping_mul(factor)
            }
            fn divided(self, by: u32) -> Self {
                // A type that cannot hold the number of ranks has wrapped around already.
                Self::try_from(by).map_or(self, |by| self / by)
            }
        }
    )*};
}

macro_rules! floats {
    ($($type:ty)*) => {$(
        impl Number for $type {
            fn combine(self, other: Self, operator: Operator) -> Self {
                match operator {
                    Operator::Sum | Operator::Average => self + other,
                    Operator::Product => self * other,
                    Operator::Max => self.max(other),
                    Operator::Min => self.min(other),
                }
            }
            fn times(self, factor: Self) -> Self {
                self * factor
            }
            fn divided(self, by: u32) -> Self {
                self / by as Self
            }
        }
    )*};
}

integers! { i8 u8 i32 u32 i64 u64 }
floats! { f32 f64 }

/// Runs `$body` with `$number`'s type, reader and writer bound to those of an `ncclDataType_t`.
macro_rules! for_kind {
    ($kind:expr, $run:ident ($($argument:expr),*)) => {
        match $kind {
            0 => $run($($argument,)* i8::from_ne_bytes, i8::to_ne_bytes),
            1 => $run($($argument,)* u8::from_ne_bytes, u8::to_ne_bytes),
            2 => $run($($argument,)* i32::from_ne_bytes, i32::to_ne_bytes),
            3 => $run($($argument,)* u32::from_ne_bytes, u32::to_ne_bytes),
            4 => $run($($argument,)* i64::from_ne_bytes, i64::to_ne_bytes),
            5 => $run($($argument,)* u64::from_ne_bytes, u64::to_ne_bytes),
            6 => $run($($argument,)* from_half, to_half),
            7 => $run($($argument,)* f32::from_ne_bytes, f32::to_ne_bytes),
            8 => $run($($argument,)* f64::from_ne_bytes, f64::to_ne_bytes),
            9 => $run($($argument,)* from_bfloat16, to_bfloat16),
            // Eight-bit floats are not computed: the first operand stays.
            _ => {}
        }
    };
}

/// Reduces what the ranks gave, in their order, to one.
pub(crate) fn reduce(kind: u32, operator: Operator, given: &[Vec<u8>]) -> Vec<u8> {
    let Some((first, others)) = given.split_first() else { return Vec::new() };
    let mut result = first.clone();
    let adds = matches!(operator, Operator::Sum | Operator::Average);
    for other in others {
        // What was never computed is zero, mostly.
        if adds && is_zero(other) {
            continue;
        }
        for_kind!(kind, fold(&mut result, other, operator));
    }
    if operator == Operator::Average {
        for_kind!(kind, divide(&mut result, given.len() as u32));
    }
    result
}

/// Multiplies every element by a factor of the same type.
pub(crate) fn scale(kind: u32, bytes: &mut [u8], factor: &[u8]) {
    for_kind!(kind, multiply(bytes, factor));
}

fn fold<N: Number, const SIZE: usize>(
    result: &mut [u8],
    other: &[u8],
    operator: Operator,
    read: impl Fn([u8; SIZE]) -> N,
    write: impl Fn(N) -> [u8; SIZE],
) {
    let (elements, others) = (result.as_chunks_mut::<SIZE>().0, other.as_chunks::<SIZE>().0);
    for (element, other) in elements.iter_mut().zip(others) {
        *element = write(read(*element).combine(read(*other), operator));
    }
}

fn divide<N: Number, const SIZE: usize>(
    result: &mut [u8],
    by: u32,
    read: impl Fn([u8; SIZE]) -> N,
    write: impl Fn(N) -> [u8; SIZE],
) {
    for element in result.as_chunks_mut::<SIZE>().0 {
        *element = write(read(*element).divided(by));
    }
}

fn multiply<N: Number, const SIZE: usize>(
    bytes: &mut [u8],
    factor: &[u8],
    read: impl Fn([u8; SIZE]) -> N,
    write: impl Fn(N) -> [u8; SIZE],
) {
    let Some(factor) = factor.first_chunk::<SIZE>() else { return };
    for element in bytes.as_chunks_mut::<SIZE>().0 {
        *element = write(read(*element).times(read(*factor)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn int64(values: &[i64]) -> Vec<u8> {
        values.iter().flat_map(|value| value.to_ne_bytes()).collect()
    }

    #[test]
    fn integers_are_reduced_with_every_operator() {
        let given = [int64(&[1, -5]), int64(&[7, 2]), int64(&[4, -9])];
        let results =
            (0..5).map(|number| reduce(4, Operator::of(number).expect("built in"), &given));
        let expected = [[12, -12], [28, 90], [7, 2], [1, -9], [4, -4]].map(|two| int64(&two));
        assert!(results.eq(expected));
        assert_eq!(Operator::of(5), None);
    }

    #[test]
    fn every_type_adds_up() {
        let one = [
            (0, vec![1]),
            (1, vec![1]),
            (2, 1_i32.to_ne_bytes().to_vec()),
            (3, 1_u32.to_ne_bytes().to_vec()),
            (4, int64(&[1])),
            (5, int64(&[1])),
            (6, to_half(1.0).to_vec()),
            (7, 1_f32.to_ne_bytes().to_vec()),
            (8, 1_f64.to_ne_bytes().to_vec()),
            (9, to_bfloat16(1.0).to_vec()),
        ];
        for (kind, one) in one {
            let two = reduce(kind, Operator::Sum, &[one.clone(), one.clone()]);
            assert_ne!(two, one, "type {kind}");
            assert_eq!(reduce(kind, Operator::Average, &[two.clone(), two.clone()]), two);
            let mut scaled = one.clone();
            scale(kind, &mut scaled, &two);
            assert_eq!(scaled, two, "type {kind}");
        }
    }

    #[test]
    fn small_unsigned_integers_wrap_as_on_the_device() {
        assert_eq!(reduce(1, Operator::Sum, &[vec![200], vec![100]]), [44]);
        assert_eq!(reduce(1, Operator::Max, &[vec![0, 1], vec![1, 0]]), [1, 1]);
    }
}
