//! Arithmetic.

use super::{Decoded, Parts};
use crate::{
    error::Refused,
    step::{Source, Step},
    value::{
        Class, Kind,
        float::{Float, Manner},
        integer::Integer,
    },
};

impl<'a> Parts<'_, 'a, '_, '_> {
    pub(super) fn arithmetic(mut self, word: &str) -> Result<Decoded<'a>, Refused> {
        let kind = self.take_kind()?;
        if kind.is_float() { self.float(word, kind) } else { self.integer(word, kind) }
    }

    fn float(mut self, word: &str, kind: Kind) -> Result<Decoded<'a>, Refused> {
        let (what, count) = float_named(word).ok_or_else(|| self.refused())?;
        let manner = Manner {
            flush: self.take("ftz"),
            saturate: self.take("sat"),
            keep_nan: self.take("NaN"),
        };
        for harmless in ["rn", "approx", "full"] {
            self.take(harmless);
        }
        self.finish()?;
        let extreme = matches!(what, Float::Min | Float::Max);
        let extra = usize::from(extreme && self.instruction.operands.len() == 4);
        self.expect(count + 1 + extra)?;
        let mut from = [Source::Constant(0); 3];
        for (index, place) in from.iter_mut().take(count).enumerate() {
            *place = self.value(index + 1)?;
        }
        let to = self.register(0)?;
        if extra == 0 {
            return Ok(Step::Float { what, kind, manner, to, from }.into());
        }
        // The extreme of three: of two first, and then with the third.
        let between = self.scope.new_register();
        let then = [Source::Register(between), self.value(3)?, Source::Constant(0)];
        let step = |to, from| Step::Float { what, kind, manner, to, from };
        Ok(Decoded { steps: vec![step(between, from), step(to, then)], label: None })
    }

    fn integer(mut self, word: &str, kind: Kind) -> Result<Decoded<'a>, Refused> {
        let how = self.modifiers.first().copied().unwrap_or("");
        let (what, count) = integer_named(word, how).ok_or_else(|| self.refused())?;
        let has_how = matches!(word, "mul" | "mad" | "shf");
        if has_how {
            self.modifiers.remove(0);
        }
        let what = match what {
            Integer::FunnelLeft if self.take("wrap") => Integer::FunnelLeftWrapped,
            Integer::FunnelRight if self.take("wrap") => Integer::FunnelRightWrapped,
            Integer::FunnelLeft | Integer::FunnelRight if !self.take("clamp") => {
                return Err(self.refused());
            }
            other => other,
        };
        self.finish()?;
        self.expect(count + 1)?;
        let mut from = [Source::Constant(0); 4];
        for (index, place) in from.iter_mut().take(count).enumerate() {
            *place = self.value(index + 1)?;
        }
        Ok(Step::Integer { what, kind, to: self.register(0)?, from }.into())
    }

    /// Any function of three bits, by its table.
    pub(super) fn lop3(mut self) -> Result<Decoded<'a>, Refused> {
        let kind = self.take_kind()?;
        self.finish()?;
        self.expect(5)?;
        if kind != Kind::new(Class::Bits, 4) {
            return Err(self.refused());
        }
        let Source::Constant(table) = self.value(4)? else { return Err(self.refused()) };
        let from = [self.value(1)?, self.value(2)?, self.value(3)?];
        Ok(Step::Logic { table: table as u8, to: self.register(0)?, from }.into())
    }
}

/// With how many operands.
fn float_named(word: &str) -> Option<(Float, usize)> {
    Some(match word {
        "add" => (Float::Add, 2),
        "sub" => (Float::Sub, 2),
        "mul" => (Float::Mul, 2),
        "fma" | "mad" => (Float::Fma, 3),
        "div" => (Float::Div, 2),
        "min" => (Float::Min, 2),
        "max" => (Float::Max, 2),
        "abs" => (Float::Abs, 1),
        "neg" => (Float::Neg, 1),
        "sqrt" => (Float::Sqrt, 1),
        "rsqrt" => (Float::ReciprocalSqrt, 1),
        "rcp" => (Float::Reciprocal, 1),
        "ex2" => (Float::Exp2, 1),
        "lg2" => (Float::Log2, 1),
        "sin" => (Float::Sin, 1),
        "cos" => (Float::Cos, 1),
        "tanh" => (Float::Tanh, 1),
        "copysign" => (Float::CopySign, 2),
        _ => return None,
    })
}

fn integer_named(word: &str, how: &str) -> Option<(Integer, usize)> {
    Some(match (word, how) {
        ("add", _) => (Integer::Add, 2),
        ("sub", _) => (Integer::Sub, 2),
        ("mul", "lo") => (Integer::MulLow, 2),
        ("mul", "hi") => (Integer::MulHigh, 2),
        ("mul", "wide") => (Integer::MulWide, 2),
        ("mad", "lo") => (Integer::MadLow, 3),
        ("mad", "hi") => (Integer::MadHigh, 3),
        ("mad", "wide") => (Integer::MadWide, 3),
        ("div", _) => (Integer::Div, 2),
        ("rem", _) => (Integer::Rem, 2),
        ("min", _) => (Integer::Min, 2),
        ("max", _) => (Integer::Max, 2),
        ("abs", _) => (Integer::Abs, 1),
        ("neg", _) => (Integer::Neg, 1),
        ("and", _) => (Integer::And, 2),
        ("or", _) => (Integer::Or, 2),
        ("xor", _) => (Integer::Xor, 2),
        ("not", _) => (Integer::Not, 1),
        ("shl", _) => (Integer::ShiftLeft, 2),
        ("shr", _) => (Integer::ShiftRight, 2),
        ("popc", _) => (Integer::Ones, 1),
        ("clz", _) => (Integer::LeadingZeros, 1),
        ("bfind", _) => (Integer::Highest, 1),
        ("brev", _) => (Integer::Reverse, 1),
        ("bfe", _) => (Integer::Extract, 3),
        ("bfi", _) => (Integer::Insert, 4),
        ("prmt", _) => (Integer::Permute, 3),
        ("shf", "l") => (Integer::FunnelLeft, 3),
        ("shf", "r") => (Integer::FunnelRight, 3),
        _ => return None,
    })
}
