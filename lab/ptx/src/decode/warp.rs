//! What threads do together.

use super::{Decoded, Parts, memory::update_named};
use crate::{
    error::Refused,
    parse::Operand,
    step::{Meeting, Shuffle, Source, Space, Step, Update, Vote},
    value::float::Manner,
};

fn meet<'a>(members: Source, what: Meeting) -> Decoded<'a> {
    Step::Meet { members, what: Box::new(what) }.into()
}

impl<'a> Parts<'_, 'a, '_, '_> {
    pub(super) fn barrier(mut self) -> Result<Decoded<'a>, Refused> {
        if self.modifiers == ["warp", "sync"] {
            self.expect(1)?;
            return Ok(meet(self.value(0)?, Meeting::Wait));
        }
        self.take("cta");
        self.take("aligned");
        if self.modifiers != ["sync"] {
            return Err(self.refused());
        }
        let count = if self.instruction.operands.len() > 1 { Some(self.value(1)?) } else { None };
        Ok(Step::Barrier { number: self.value(0)?, count }.into())
    }

    pub(super) fn shuffle(self) -> Result<Decoded<'a>, Refused> {
        let how = match self.modifiers.as_slice() {
            ["sync", "up", "b32"] => Shuffle::Up,
            ["sync", "down", "b32"] => Shuffle::Down,
            ["sync", "bfly", "b32"] => Shuffle::Butterfly,
            ["sync", "idx", "b32"] => Shuffle::Index,
            _ => return Err(self.refused()),
        };
        self.expect(5)?;
        let (to, found) = match self.operand(0)? {
            Operand::Pair(Some(to), found) => (*to, *found),
            _ => (self.register(0)?, None),
        };
        let (value, lane, bounds) = (self.value(1)?, self.value(2)?, self.value(3)?);
        Ok(meet(self.value(4)?, Meeting::Shuffle { how, to, found, value, lane, bounds }))
    }

    pub(super) fn vote(self) -> Result<Decoded<'a>, Refused> {
        let how = match self.modifiers.as_slice() {
            ["sync", "all", "pred"] => Vote::All,
            ["sync", "any", "pred"] => Vote::Any,
            ["sync", "uni", "pred"] => Vote::Same,
            ["sync", "ballot", "b32"] => Vote::Ballot,
            _ => return Err(self.refused()),
        };
        self.expect(3)?;
        let (value, negated) = match self.operand(1)? {
            Operand::Negated(value) => (*value, true),
            _ => (self.value(1)?, false),
        };
        Ok(meet(self.value(2)?, Meeting::Vote { how, to: self.register(0)?, value, negated }))
    }

    pub(super) fn reduce(mut self) -> Result<Decoded<'a>, Refused> {
        let kind = self.take_kind()?;
        let manner = Manner { keep_nan: self.take("NaN"), ..Manner::default() };
        let ["sync", name] = self.modifiers.as_slice() else { return Err(self.refused()) };
        let how = update_named(name, kind);
        let how = how.filter(|how| matches!(how, Update::Integer(_) | Update::Float(_)));
        let how = how.ok_or_else(|| self.refused())?;
        self.expect(3)?;
        let (to, value) = (self.register(0)?, self.value(1)?);
        Ok(meet(self.value(2)?, Meeting::Reduce { how, kind, manner, to, value }))
    }

    pub(super) fn elect(self) -> Result<Decoded<'a>, Refused> {
        self.expect(2)?;
        let (lane, chosen) = match self.operand(0)? {
            Operand::Pair(lane, Some(chosen)) => (*lane, *chosen),
            _ => return Err(self.refused()),
        };
        Ok(meet(self.value(1)?, Meeting::Elect { lane, chosen }))
    }

    /// `ldmatrix` and `stmatrix`: all 32 lanes take part.
    pub(super) fn matrices(mut self, loads: bool) -> Result<Decoded<'a>, Refused> {
        let transposed = self.take("trans");
        let count = match self.modifiers.as_slice() {
            ["sync", "aligned", "m8n8", "x1", "shared" | "shared::cta", "b16"] => 1,
            ["sync", "aligned", "m8n8", "x2", "shared" | "shared::cta", "b16"] => 2,
            ["sync", "aligned", "m8n8", "x4", "shared" | "shared::cta", "b16"] => 4,
            _ => return Err(self.refused()),
        };
        self.expect(2)?;
        let (fragment, address) = if loads { (0, 1) } else { (1, 0) };
        let Operand::Vector(parts) = self.operand(fragment)? else { return Err(self.refused()) };
        let registers = parts.iter().map(|part| match part {
            Some(Source::Register(register)) => Some(*register),
            _ => None,
        });
        let registers: Option<Vec<_>> = registers.collect();
        let registers =
            registers.filter(|found| found.len() == count).ok_or_else(|| self.refused())?;
        let place = self.place(address, Space::Shared)?;
        let all = Source::Constant(u32::MAX.into());
        Ok(meet(all, Meeting::Matrices { place, registers, transposed, loads }))
    }
}
