//! Moves, choices and comparisons.

use super::{Decoded, Parts};
use crate::{
    error::Refused,
    parse::Operand,
    step::{Compare, Join, Source, Step},
    value::{Class, Kind, compare::Comparison},
};

impl<'a> Parts<'_, 'a, '_, '_> {
    pub(super) fn mov(mut self) -> Result<Decoded<'a>, Refused> {
        let kind = self.take_kind()?;
        self.finish()?;
        self.expect(2)?;
        let step = match (self.operand(0)?, self.operand(1)?) {
            (Operand::Value(_), Operand::Value(from)) => {
                let size = Kind::new(Class::Bits, kind.size());
                let mask = if kind.class == Class::Predicate { 1 } else { size.mask() };
                Step::Move { to: self.register(0)?, from: *from, mask }
            }
            (Operand::Value(_), Operand::Vector(parts)) => {
                let bytes = self.part_of(kind, parts.len())?;
                let parts = parts.iter().map(|part| part.ok_or_else(|| self.refused()));
                Step::Pack { to: self.register(0)?, parts: parts.collect::<Result<_, _>>()?, bytes }
            }
            (Operand::Vector(parts), Operand::Value(from)) => {
                let bytes = self.part_of(kind, parts.len())?;
                let parts = parts.iter().map(|part| match part {
                    None => Ok(None),
                    Some(Source::Register(register)) => Ok(Some(*register)),
                    Some(_) => Err(self.refused()),
                });
                Step::Unpack { parts: parts.collect::<Result<_, _>>()?, from: *from, bytes }
            }
            _ => return Err(self.refused()),
        };
        Ok(step.into())
    }

    /// The bytes of each of so many parts.
    fn part_of(&self, kind: Kind, parts: usize) -> Result<usize, Refused> {
        let fits = matches!(parts, 2 | 4 | 8) && kind.size() >= parts;
        if fits { Ok(kind.size() / parts) } else { Err(self.refused()) }
    }

    pub(super) fn selp(mut self) -> Result<Decoded<'a>, Refused> {
        let kind = self.take_kind()?;
        self.finish()?;
        self.expect(4)?;
        let from = [self.value(1)?, self.value(2)?];
        Ok(Step::Select { mask: kind.mask(), to: self.register(0)?, from, by: self.value(3)? }
            .into())
    }

    pub(super) fn setp(mut self) -> Result<Decoded<'a>, Refused> {
        let kind = self.take_kind()?;
        let (how, join) = self.comparison()?;
        let (to, opposite) = match self.operand(0)? {
            Operand::Pair(to, opposite) => (*to, *opposite),
            _ => (Some(self.register(0)?), None),
        };
        self.compared(Compare {
            how,
            kind,
            to,
            opposite,
            from: self.compared_values()?,
            join,
            holds: 1,
        })
    }

    pub(super) fn set(mut self) -> Result<Decoded<'a>, Refused> {
        let (kind, to_kind) = (self.take_kind()?, self.take_kind()?);
        let (how, join) = self.comparison()?;
        let holds = if to_kind.is_float() && to_kind.bytes == 4 {
            u64::from(1_f32.to_bits())
        } else if to_kind.is_float() {
            return Err(self.refused());
        } else {
            to_kind.mask()
        };
        let to = Some(self.register(0)?);
        self.compared(Compare {
            how,
            kind,
            to,
            opposite: None,
            from: self.compared_values()?,
            join,
            holds,
        })
    }

    fn compared_values(&self) -> Result<[Source; 2], Refused> {
        Ok([self.value(1)?, self.value(2)?])
    }

    fn compared(&self, compare: Compare) -> Result<Decoded<'a>, Refused> {
        self.expect(if compare.join.is_some() { 4 } else { 3 })?;
        if compare.kind.packed {
            return Err(self.refused());
        }
        Ok(Step::Compare(Box::new(compare)).into())
    }

    /// The comparison, and the predicate that its answer is joined with.
    fn comparison(&mut self) -> Result<(Comparison, Option<(Join, Source)>), Refused> {
        // Numbers too small to be normal compare as what they are.
        if self.take("ftz") {
            return Err(self.refused());
        }
        let refused = self.refused();
        let (how, join) = match self.modifiers.as_slice() {
            [how] => (how, None),
            [how, "and"] => (how, Some(Join::And)),
            [how, "or"] => (how, Some(Join::Or)),
            [how, "xor"] => (how, Some(Join::Xor)),
            _ => return Err(refused),
        };
        let how = Comparison::named(how).ok_or(refused)?;
        let join = join.map(|join| Ok::<_, Refused>((join, self.value(3)?))).transpose()?;
        Ok((how, join))
    }
}
