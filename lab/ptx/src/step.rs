//! Instructions as they are run: names are resolved to registers, places and constants.

use crate::value::{
    Kind,
    compare::Comparison,
    convert::Conversion,
    float::{Float, Manner},
    integer::Integer,
};

/// A register's number.
pub(crate) type Register = u32;

/// Where a value comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    Register(Register),
    Constant(u64),
    Special(Special),
}

/// What a thread is told of itself and its launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Special {
    Thread(usize),
    Threads(usize),
    Block(usize),
    Blocks(usize),
    Lane,
    Warp,
    Warps,
    /// The lanes that are before this one, this one, or both.
    LanesBefore,
    LanesUpTo,
    LaneItself,
    LanesAfter,
    LanesFrom,
    /// Instructions so far, as a clock.
    Clock,
    DynamicShared,
}

/// Memory of its own addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Space {
    Generic,
    Global,
    Shared,
    Local,
    Parameter,
}

/// A place in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) space: Space,
    pub(crate) base: Source,
    pub(crate) offset: u64,
}

/// What an atomic instruction does with a value in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Update {
    Integer(Integer),
    Float(Float),
    Exchange,
    CompareAndSwap,
    /// Up to a bound, then from 0 on.
    Increment,
    /// Down to 0, then from a bound on.
    Decrement,
}

/// How the answer of a comparison is joined with a predicate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Join {
    And,
    Or,
    Xor,
}

/// Which lane a value comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shuffle {
    Up,
    Down,
    Butterfly,
    Index,
}

/// What lanes find out together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Vote {
    All,
    Any,
    Same,
    Ballot,
}

/// What lanes do together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Meeting {
    Shuffle {
        how: Shuffle,
        to: Register,
        found: Option<Register>,
        value: Source,
        lane: Source,
        bounds: Source,
    },
    Vote {
        how: Vote,
        to: Register,
        value: Source,
        negated: bool,
    },
    Reduce {
        how: Update,
        kind: Kind,
        manner: Manner,
        to: Register,
        value: Source,
    },
    /// Rows of 16 bytes of shared memory, spread over the lanes as fragments of matrices.
    Matrices {
        place: Place,
        registers: Vec<Register>,
        transposed: bool,
        loads: bool,
    },
    Elect {
        lane: Option<Register>,
        chosen: Register,
    },
    Wait,
}

/// One instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    Nothing,
    Move { to: Register, from: Source, mask: u64 },
    Pack { to: Register, parts: Vec<Source>, bytes: usize },
    Unpack { parts: Vec<Option<Register>>, from: Source, bytes: usize },
    Integer { what: Integer, kind: Kind, to: Register, from: [Source; 4] },
    Float { what: Float, kind: Kind, manner: Manner, to: Register, from: [Source; 3] },
    Logic { table: u8, to: Register, from: [Source; 3] },
    Compare(Box<Compare>),
    Select { mask: u64, to: Register, from: [Source; 2], by: Source },
    Convert { how: Conversion, to: Register, mask: u64, from: Source },
    ConvertPair { how: Conversion, to: Register, high: Source, low: Source },
    Address { to: Register, from: Source, space: Space, into: bool },
    Load { place: Place, kind: Kind, to: Vec<Option<Register>>, mask: u64 },
    Store { place: Place, kind: Kind, from: Vec<Source> },
    Atomic(Box<Atomic>),
    Copy { to: Place, from: Place, bytes: u64, read: Source },
    Branch(usize),
    Barrier { number: Source, count: Option<Source> },
    Meet { members: Source, what: Box<Meeting> },
    Exit,
}

/// A comparison of two values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Compare {
    pub(crate) how: Comparison,
    pub(crate) kind: Kind,
    pub(crate) to: Option<Register>,
    pub(crate) opposite: Option<Register>,
    pub(crate) from: [Source; 2],
    pub(crate) join: Option<(Join, Source)>,
    /// What is written where it holds.
    pub(crate) holds: u64,
}

/// A value in memory is read and written with nobody between.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Atomic {
    pub(crate) how: Update,
    pub(crate) kind: Kind,
    pub(crate) manner: Manner,
    pub(crate) to: Option<Register>,
    pub(crate) place: Place,
    pub(crate) from: [Source; 2],
}

/// An instruction that may depend on a predicate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Guarded {
    /// A register, and the value it must have.
    pub(crate) guard: Option<(Register, bool)>,
    pub(crate) step: Step,
}
