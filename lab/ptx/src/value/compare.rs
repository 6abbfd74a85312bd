//! Comparisons.

use std::cmp::Ordering;

use super::{Kind, float};

/// What is asked of two values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Question {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    /// Both are numbers.
    Numbers,
    /// One of them is no number.
    NoNumber,
}

/// A comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Comparison {
    question: Question,
    /// The answer where one of the two is no number.
    unordered: bool,
    /// Whole numbers count as unsigned, whatever their type.
    unsigned: bool,
}

impl Comparison {
    pub(crate) fn named(name: &str) -> Option<Self> {
        let (question, unordered, unsigned) = match name {
            "eq" => (Question::Equal, false, false),
            "ne" => (Question::NotEqual, false, false),
            "lt" => (Question::Less, false, false),
            "le" => (Question::LessOrEqual, false, false),
            "gt" => (Question::Greater, false, false),
            "ge" => (Question::GreaterOrEqual, false, false),
            "lo" => (Question::Less, false, true),
            "ls" => (Question::LessOrEqual, false, true),
            "hi" => (Question::Greater, false, true),
            "hs" => (Question::GreaterOrEqual, false, true),
            "equ" => (Question::Equal, true, false),
            "neu" => (Question::NotEqual, true, false),
            "ltu" => (Question::Less, true, false),
            "leu" => (Question::LessOrEqual, true, false),
            "gtu" => (Question::Greater, true, false),
            "geu" => (Question::GreaterOrEqual, true, false),
            "num" => (Question::Numbers, false, false),
            "nan" => (Question::NoNumber, true, false),
            _ => return None,
        };
        Some(Self { question, unordered, unsigned })
    }

    pub(crate) fn holds(self, kind: Kind, a: u64, b: u64) -> bool {
        let order = if kind.is_float() {
            float::real(kind, a).partial_cmp(&float::real(kind, b))
        } else if kind.is_signed() && !self.unsigned {
            Some(kind.signed(a).cmp(&kind.signed(b)))
        } else {
            Some((a & kind.mask()).cmp(&(b & kind.mask())))
        };
        let Some(order) = order else { return self.unordered };
        match self.question {
            Question::Equal => order == Ordering::Equal,
            Question::NotEqual => order != Ordering::Equal,
            Question::Less => order == Ordering::Less,
            Question::LessOrEqual => order != Ordering::Greater,
            Question::Greater => order == Ordering::Greater,
            Question::GreaterOrEqual => order != Ordering::Less,
            Question::Numbers => true,
            Question::NoNumber => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn holds(name: &str, kind: &str, a: u64, b: u64) -> bool {
        let comparison = Comparison::named(name).expect("a comparison");
        comparison.holds(Kind::named(kind).expect("a type"), a, b)
    }

    #[test]
    fn signs_and_widths() {
        assert!(holds("lt", "s32", 0xffff_ffff, 0));
        assert!(!holds("lt", "u32", 0xffff_ffff, 0));
        assert!(holds("hi", "s32", 0xffff_ffff, 0));
        assert!(holds("eq", "b16", 0x1_0001, 1));
    }

    #[test]
    fn what_is_no_number_is_unordered() {
        let (one, none) = (u64::from(1_f32.to_bits()), u64::from(f32::NAN.to_bits()));
        for ordered in ["eq", "ne", "lt", "ge", "num"] {
            assert!(!holds(ordered, "f32", one, none), "{ordered}");
        }
        for unordered in ["equ", "neu", "ltu", "geu", "nan"] {
            assert!(holds(unordered, "f32", one, none), "{unordered}");
        }
        assert!(holds("num", "f32", one, one) && !holds("nan", "f32", one, one));
    }
}
