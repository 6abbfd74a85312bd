//! Loads, stores, atomics and copies.

use super::{Decoded, Parts};
use crate::{
    error::Refused,
    parse::Operand,
    step::{Atomic, Place, Source, Space, Step, Update},
    value::{
        Class, Kind,
        float::{Float, Manner},
        integer::Integer,
    },
};

/// Order, scope and caches: every access is finished before the next begins, and there are no caches.
const HARMLESS: &[&str] = &[
    "volatile", "weak", "relaxed", "acquire", "release", "acq_rel", "cta", "cluster", "gpu", "sys",
    "ca", "cg", "cs", "lu", "cv", "wb", "wt", "nc", "noftz", "async",
];

impl<'a> Parts<'_, 'a, '_, '_> {
    /// Takes what does not change the result here.
    fn take_harmless(&mut self) {
        let is_hint = |one: &str| one.starts_with("L1::") || one.starts_with("L2::");
        self.modifiers.retain(|one| !HARMLESS.contains(one) && !is_hint(one));
    }

    fn take_space(&mut self) -> Result<Space, Refused> {
        let mut found = Space::Generic;
        let mut rest = Vec::new();
        for modifier in std::mem::take(&mut self.modifiers) {
            match modifier {
                "global" => found = Space::Global,
                "shared" | "shared::cta" => found = Space::Shared,
                "local" => found = Space::Local,
                "param" => found = Space::Parameter,
                other => rest.push(other),
            }
        }
        self.modifiers = rest;
        Ok(found)
    }

    pub(super) fn place(&self, index: usize, space: Space) -> Result<Place, Refused> {
        match self.operand(index)? {
            Operand::Address(base, offset) => Ok(Place { space, base: *base, offset: *offset }),
            _ => Err(self.refused()),
        }
    }

    /// How many values at once.
    fn take_count(&mut self) -> usize {
        let counts = [("v2", 2), ("v4", 4), ("v8", 8)];
        counts.into_iter().find(|(name, _)| self.take(name)).map_or(1, |(_, count)| count)
    }

    pub(super) fn load(mut self) -> Result<Decoded<'a>, Refused> {
        let kind = self.take_kind()?;
        let count = self.take_count();
        self.take_harmless();
        let space = self.take_space()?;
        self.finish()?;
        let to = match self.operand(0)? {
            Operand::Vector(parts) => parts.clone(),
            _ => vec![Some(Source::Register(self.register(0)?))],
        };
        let register = |part: &Option<Source>| match part {
            None => Ok(None),
            Some(Source::Register(register)) => Ok(Some(*register)),
            Some(_) => Err(self.refused()),
        };
        let to = to.iter().map(register).collect::<Result<Vec<_>, _>>()?;
        if to.len() != count || kind.class == Class::Predicate {
            return Err(self.refused());
        }
        let first = to.iter().flatten().next().copied();
        let mask = first.map_or(u64::MAX, |register| self.mask_of(register));
        Ok(Step::Load { place: self.place(1, space)?, kind, to, mask }.into())
    }

    pub(super) fn store(mut self) -> Result<Decoded<'a>, Refused> {
        let kind = self.take_kind()?;
        let count = self.take_count();
        self.take_harmless();
        let space = self.take_space()?;
        self.finish()?;
        let from = match self.operand(1)? {
            Operand::Vector(parts) => parts.iter().copied().collect::<Option<Vec<_>>>(),
            _ => Some(vec![self.value(1)?]),
        };
        let from = from.filter(|from| from.len() == count && kind.class != Class::Predicate);
        let from = from.ok_or_else(|| self.refused())?;
        Ok(Step::Store { place: self.place(0, space)?, kind, from }.into())
    }

    pub(super) fn atomic(mut self, answers: bool) -> Result<Decoded<'a>, Refused> {
        let kind = self.take_kind()?;
        self.take_harmless();
        let space = self.take_space()?;
        let [name] = self.modifiers.as_slice() else { return Err(self.refused()) };
        let how = update_named(name, kind).ok_or_else(|| self.refused())?;
        let first = usize::from(answers);
        let to = match self.operand(0)? {
            Operand::Sink => None,
            _ if answers => Some(self.register(0)?),
            _ => None,
        };
        let mut from = [self.value(first + 1)?, Source::Constant(0)];
        if how == Update::CompareAndSwap {
            from[1] = self.value(first + 2)?;
        }
        let place = self.place(first, space)?;
        let atomic = Atomic { how, kind, manner: Manner::default(), to, place, from };
        Ok(Step::Atomic(Box::new(atomic)).into())
    }

    /// `cp.async`: the copy is made at once, so nothing has to be waited for.
    pub(super) fn copy(mut self) -> Result<Decoded<'a>, Refused> {
        match self.modifiers.as_slice() {
            ["async", "commit_group" | "wait_group" | "wait_all"] => {
                return Ok(Step::Nothing.into());
            }
            ["async", "ca" | "cg", "shared" | "shared::cta", "global", ..] => {}
            _ => return Err(self.refused()),
        }
        self.modifiers.drain(..4);
        // A cache policy is the last operand.
        let policies = usize::from(self.take("L2::cache_hint"));
        self.take_harmless();
        self.finish()?;
        let Source::Constant(bytes) = self.value(2)? else { return Err(self.refused()) };
        let read = if self.instruction.operands.len() == 4 + policies {
            self.value(3)?
        } else {
            self.expect(3 + policies)?;
            Source::Constant(bytes)
        };
        // A predicate there says whether to ignore the source.
        if matches!(read, Source::Register(register) if self.scope.bytes_of(register) < 4) {
            return Err(self.refused());
        }
        if bytes > 16 {
            return Err(self.refused());
        }
        let (to, from) = (self.place(0, Space::Shared)?, self.place(1, Space::Global)?);
        Ok(Step::Copy { to, from, bytes, read }.into())
    }

    /// Which data to keep in a cache.
    pub(super) fn no_policy(self) -> Result<Decoded<'a>, Refused> {
        Ok(Step::Move { to: self.register(0)?, from: Source::Constant(0), mask: 0 }.into())
    }
}

pub(super) fn update_named(name: &str, kind: Kind) -> Option<Update> {
    Some(match name {
        "add" if kind.is_float() => Update::Float(Float::Add),
        "min" if kind.is_float() => Update::Float(Float::Min),
        "max" if kind.is_float() => Update::Float(Float::Max),
        "exch" => Update::Exchange,
        "cas" => Update::CompareAndSwap,
        _ if kind.is_float() => return None,
        "add" => Update::Integer(Integer::Add),
        "min" => Update::Integer(Integer::Min),
        "max" => Update::Integer(Integer::Max),
        "and" => Update::Integer(Integer::And),
        "or" => Update::Integer(Integer::Or),
        "xor" => Update::Integer(Integer::Xor),
        "inc" => Update::Increment,
        "dec" => Update::Decrement,
        _ => return None,
    })
}
