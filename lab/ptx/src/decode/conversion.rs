//! Conversions of values and of addresses.

use super::{Decoded, Parts};
use crate::{
    error::Refused,
    step::{Source, Space, Step},
    value::{
        Class, Kind,
        convert::{Conversion, Rounding},
        float::{Float, Manner},
    },
};

impl<'a> Parts<'_, 'a, '_, '_> {
    pub(super) fn cvt(mut self) -> Result<Decoded<'a>, Refused> {
        let (from, to) = (self.take_kind()?, self.take_kind()?);
        let (flush, saturate) = (self.take("ftz"), self.take("sat"));
        let (rounding, to_whole) = match self.modifiers.pop() {
            None | Some("rn") => (Rounding::Nearest, false),
            Some("rz") => (Rounding::TowardZero, false),
            Some("rm") => (Rounding::Down, false),
            Some("rp") => (Rounding::Up, false),
            Some("rni") => (Rounding::Nearest, true),
            Some("rzi") => (Rounding::TowardZero, true),
            Some("rmi") => (Rounding::Down, true),
            Some("rpi") => (Rounding::Up, true),
            Some(_) => return Err(self.refused()),
        };
        self.finish()?;
        if from.packed || from.class == Class::Predicate || to.class == Class::Predicate {
            return Err(self.refused());
        }
        let how =
            Conversion { to: Kind { packed: false, ..to }, from, rounding, to_whole, saturate };
        let target = self.register(0)?;
        if to.packed {
            self.expect(3)?;
            let (high, low) = (self.value(1)?, self.value(2)?);
            return Ok(Step::ConvertPair { how, to: target, high, low }.into());
        }
        self.expect(2)?;
        // A register may be wider than the type: the sign goes on.
        let mask = if to.is_signed() { self.mask_of(target) } else { to.mask() };
        let step = Step::Convert { how, to: target, mask, from: self.value(1)? };
        Ok(if flush { self.flushed(how, target, &step)? } else { step.into() })
    }

    /// Numbers too small to be normal are zero on both sides: multiplication by one flushes.
    fn flushed(&mut self, how: Conversion, to: u32, step: &Step) -> Result<Decoded<'a>, Refused> {
        let single = Kind::new(Class::Float, 4);
        let one = Source::Constant(u64::from(1_f32.to_bits()));
        let manner = Manner { flush: true, ..Manner::default() };
        let flush = |to, from| {
            let from = [from, one, Source::Constant(0)];
            Step::Float { what: Float::Mul, kind: single, manner, to, from }
        };
        let Step::Convert { mask, from, .. } = *step else { return Err(self.refused()) };
        let mut steps = Vec::new();
        let mut source = from;
        if how.from == single {
            let between = self.scope.new_register();
            steps.push(flush(between, from));
            source = Source::Register(between);
        }
        steps.push(Step::Convert { how, to, mask, from: source });
        if how.to == single {
            steps.push(flush(to, Source::Register(to)));
        }
        Ok(Decoded { steps, label: None })
    }

    pub(super) fn mask_of(&self, register: u32) -> u64 {
        Kind::new(Class::Bits, self.scope.bytes_of(register)).mask()
    }

    /// Addresses of one space to generic ones, and back.
    pub(super) fn cvta(mut self) -> Result<Decoded<'a>, Refused> {
        self.take_kind()?;
        let into = !self.take("to");
        let space = match self.modifiers.as_slice() {
            ["global"] => Space::Global,
            ["shared" | "shared::cta"] => Space::Shared,
            ["local"] => Space::Local,
            _ => return Err(self.refused()),
        };
        self.expect(2)?;
        Ok(Step::Address { to: self.register(0)?, from: self.value(1)?, space, into }.into())
    }
}
