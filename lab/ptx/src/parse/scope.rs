//! What names mean.

use std::collections::HashMap;

use super::declaration::Declaration;
use crate::{
    error::Refused,
    step::{Register, Source, Special},
    value::Kind,
};

/// No kernel has more registers than this.
const MOST_REGISTERS: usize = 1 << 16;

#[derive(Clone, Default)]
pub(crate) struct Scope<'a> {
    /// Registers by name; inner braces come last.
    blocks: Vec<HashMap<String, Register>>,
    /// The bytes of each register.
    pub(crate) registers: Vec<u8>,
    symbols: HashMap<&'a str, u64>,
    pub(crate) parameters: Vec<(usize, usize)>,
    pub(crate) shared: usize,
    /// Whether an array of shared memory has the length that the launch adds.
    open_shared: bool,
    pub(crate) local: usize,
}

impl<'a> Scope<'a> {
    pub(crate) fn open(&mut self) {
        self.blocks.push(HashMap::new());
    }

    pub(crate) fn close(&mut self) {
        self.blocks.pop();
    }

    pub(crate) fn declare_parameter(&mut self, declared: &Declaration<'a>) {
        let end = self.parameters.last().map_or(0, |(start, size)| start + size);
        let start = end.next_multiple_of(declared.align);
        self.parameters.push((start, declared.bytes));
        self.symbols.insert(declared.name, start as u64);
    }

    /// An array of unknown length lies behind all others. Its place is used before a later one is seen.
    pub(crate) fn declare_shared(&mut self, declared: &Declaration<'a>) -> Result<(), Refused> {
        if self.open_shared && declared.bytes > 0 {
            return Err(Refused::new(".shared after .extern .shared"));
        }
        self.open_shared |= declared.bytes == 0;
        let start = self.shared.next_multiple_of(declared.align);
        self.shared = start + declared.bytes;
        self.symbols.insert(declared.name, start as u64);
        Ok(())
    }

    pub(crate) fn declare_local(&mut self, declared: &Declaration<'a>) {
        let start = self.local.next_multiple_of(declared.align);
        self.local = start + declared.bytes;
        self.symbols.insert(declared.name, start as u64);
    }

    /// A register, or as many as the range says, numbered behind the name.
    pub(crate) fn declare_registers(
        &mut self,
        name: &str,
        count: Option<usize>,
        kind: Kind,
    ) -> Result<(), Refused> {
        let most = MOST_REGISTERS - self.registers.len().min(MOST_REGISTERS);
        if count.unwrap_or(1) > most {
            return Err(Refused::new("so many registers"));
        }
        let names: Vec<String> = match count {
            Some(count) => (0..count).map(|number| format!("{name}{number}")).collect(),
            None => vec![name.to_owned()],
        };
        let Some(block) = self.blocks.last_mut() else { return Ok(()) };
        for name in names {
            block.insert(name, self.registers.len() as Register);
            self.registers.push(kind.size() as u8);
        }
        Ok(())
    }

    pub(crate) fn register(&self, name: &str) -> Option<Register> {
        self.blocks.iter().rev().find_map(|block| block.get(name)).copied()
    }

    /// A register of our own.
    pub(crate) fn new_register(&mut self) -> Register {
        self.registers.push(8);
        self.registers.len() as Register - 1
    }

    pub(crate) fn bytes_of(&self, register: Register) -> usize {
        self.registers.get(register as usize).map_or(8, |bytes| usize::from(*bytes))
    }

    /// What a name stands for where a value is wanted.
    pub(crate) fn source(&self, name: &str) -> Result<Source, Refused> {
        if let Some(register) = self.register(name) {
            return Ok(Source::Register(register));
        }
        if let Some(place) = self.symbols.get(name) {
            return Ok(Source::Constant(*place));
        }
        special(name).ok_or_else(|| Refused::new(name))
    }
}

fn special(name: &str) -> Option<Source> {
    let (register, part) = name.rsplit_once('.').unwrap_or((name, ""));
    let axis = match part {
        "x" => 0,
        "y" => 1,
        "z" => 2,
        "" => 3,
        _ => return None,
    };
    let found = match (register, axis) {
        ("%tid", 0..3) => Special::Thread(axis),
        ("%ntid", 0..3) => Special::Threads(axis),
        ("%ctaid", 0..3) => Special::Block(axis),
        ("%nctaid", 0..3) => Special::Blocks(axis),
        ("%laneid", 3) => Special::Lane,
        ("%warpid", 3) => Special::Warp,
        ("%nwarpid", 3) => Special::Warps,
        ("%lanemask_lt", 3) => Special::LanesBefore,
        ("%lanemask_le", 3) => Special::LanesUpTo,
        ("%lanemask_eq", 3) => Special::LaneItself,
        ("%lanemask_gt", 3) => Special::LanesAfter,
        ("%lanemask_ge", 3) => Special::LanesFrom,
        ("%clock" | "%clock64" | "%globaltimer" | "%globaltimer_lo", 3) => Special::Clock,
        ("%dynamic_smem_size", 3) => Special::DynamicShared,
        // A cluster is one block here.
        ("%cluster_ctaid", 0..3) | ("%cluster_ctarank" | "%smid", 3) => {
            return Some(Source::Constant(0));
        }
        ("%cluster_nctaid", 0..3) | ("%cluster_nctarank", 3) => return Some(Source::Constant(1)),
        ("WARP_SZ", 3) => return Some(Source::Constant(32)),
        _ => return None,
    };
    Some(Source::Special(found))
}
