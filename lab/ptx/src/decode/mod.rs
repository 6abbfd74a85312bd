//! Instructions by name: which are known, and what they become.
//!
//! A name is a word and its modifiers, with dots between. A modifier that is not known refuses the kernel:
//! it could change the result.

mod arithmetic;
mod conversion;
mod data;
mod memory;
mod warp;

use crate::{
    error::Refused,
    parse::{Operand, scope::Scope},
    step::{Register, Source, Step},
    value::Kind,
};

/// A name with its operands.
pub(crate) struct Instruction<'a> {
    pub(crate) name: &'a str,
    pub(crate) operands: Vec<Operand<'a>>,
}

/// What an instruction becomes.
pub(crate) struct Decoded<'a> {
    pub(crate) steps: Vec<Step>,
    /// Where a branch goes.
    pub(crate) label: Option<&'a str>,
}

impl From<Step> for Decoded<'_> {
    fn from(step: Step) -> Self {
        Self { steps: vec![step], label: None }
    }
}

pub(crate) fn decode<'a>(
    instruction: &Instruction<'a>,
    scope: &mut Scope<'_>,
) -> Result<Decoded<'a>, Refused> {
    let (word, modifiers) = instruction.name.split_once('.').unwrap_or((instruction.name, ""));
    let modifiers: Vec<&str> = modifiers.split('.').filter(|one| !one.is_empty()).collect();
    let it = Parts { instruction, modifiers, scope };
    match word {
        "bra" => it.branch(),
        "ret" | "exit" => Ok(Step::Exit.into()),
        "mov" => it.mov(),
        "selp" => it.selp(),
        "setp" => it.setp(),
        "set" => it.set(),
        "cvt" => it.cvt(),
        "cvta" => it.cvta(),
        "ld" | "ldu" => it.load(),
        "st" => it.store(),
        "atom" | "red" => it.atomic(word == "atom"),
        "cp" => it.copy(),
        "createpolicy" => it.no_policy(),
        "bar" | "barrier" => it.barrier(),
        "shfl" => it.shuffle(),
        "vote" => it.vote(),
        "redux" => it.reduce(),
        "elect" => it.elect(),
        "ldmatrix" | "stmatrix" => it.matrices(word == "ldmatrix"),
        // Order of memory accesses: every one is finished before the next begins. Hints: no effect.
        "membar" | "fence" | "prefetch" | "prefetchu" | "applypriority" | "discard"
        | "nanosleep" | "griddepcontrol" | "setmaxnreg" => Ok(Step::Nothing.into()),
        "lop3" => it.lop3(),
        _ => it.arithmetic(word),
    }
}

/// An instruction in its parts.
struct Parts<'i, 'a, 's, 'n> {
    instruction: &'i Instruction<'a>,
    modifiers: Vec<&'i str>,
    scope: &'s mut Scope<'n>,
}

impl<'a> Parts<'_, 'a, '_, '_> {
    fn refused(&self) -> Refused {
        Refused::new(self.instruction.name)
    }

    fn operand(&self, index: usize) -> Result<&Operand<'a>, Refused> {
        self.instruction.operands.get(index).ok_or_else(|| self.refused())
    }

    /// As many operands as the instruction takes, so that none is overlooked.
    fn expect(&self, count: usize) -> Result<(), Refused> {
        if self.instruction.operands.len() == count { Ok(()) } else { Err(self.refused()) }
    }

    fn value(&self, index: usize) -> Result<Source, Refused> {
        match self.operand(index)? {
            Operand::Value(source) => Ok(*source),
            _ => Err(self.refused()),
        }
    }

    fn register(&self, index: usize) -> Result<Register, Refused> {
        match self.value(index)? {
            Source::Register(register) => Ok(register),
            _ => Err(self.refused()),
        }
    }

    /// Whether a modifier is there; it is taken out.
    fn take(&mut self, modifier: &str) -> bool {
        let found = self.modifiers.iter().position(|one| *one == modifier);
        found.map(|at| self.modifiers.remove(at)).is_some()
    }

    /// Takes the type from the end.
    fn take_kind(&mut self) -> Result<Kind, Refused> {
        let kind = self
            .modifiers
            .last()
            .and_then(|last| Kind::named(last))
            .ok_or_else(|| self.refused())?;
        self.modifiers.pop();
        Ok(kind)
    }

    /// All modifiers must have been taken.
    fn finish(&self) -> Result<(), Refused> {
        if self.modifiers.is_empty() { Ok(()) } else { Err(self.refused()) }
    }

    fn branch(mut self) -> Result<Decoded<'a>, Refused> {
        self.take("uni");
        self.finish()?;
        self.expect(1)?;
        let Operand::Name(label) = self.operand(0)? else { return Err(self.refused()) };
        Ok(Decoded { steps: vec![Step::Nothing], label: Some(label) })
    }
}
