//! Work that a stream or a graph does: one description for both, so that what is captured and what
//! is done at once are the same.

use super::{
    ids::{EventId, GraphId},
    module::Launch,
};

/// One piece of work.
#[derive(Clone, Debug, PartialEq)]
pub enum Work {
    /// A launch; its stream is the one that does the work.
    Kernel(Launch),
    /// A copy.
    Copy(Box3),
    /// A fill.
    Fill(Fill),
    /// A call of the program's.
    Host(HostCall),
    /// Another graph.
    Child(GraphId),
    /// Nothing.
    Empty,
    /// Waiting for an event.
    Wait(EventId),
    /// Recording an event.
    Record(EventId),
    /// Memory that lives from here on.
    Alloc(GraphAllocation),
    /// The end of such memory.
    Free(u64),
    /// Graphs that run or do not.
    Conditional(Conditional),
}

impl Work {
    /// Its number among the documented types of nodes.
    #[must_use]
    pub fn number(&self) -> u32 {
        match self {
            Self::Kernel(_) => 0,
            Self::Copy(_) => 1,
            Self::Fill(_) => 2,
            Self::Host(_) => 3,
            Self::Child(_) => 4,
            Self::Empty => 5,
            Self::Wait(_) => 6,
            Self::Record(_) => 7,
            Self::Alloc(_) => 10,
            Self::Free(_) => 11,
            Self::Conditional(_) => 13,
        }
    }

    /// Whether it takes or gives memory.
    pub(in crate::driver) fn is_memory(&self) -> bool {
        matches!(self, Self::Alloc(_) | Self::Free(_))
    }
}

/// One end of a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Side {
    /// The first byte.
    pub start: u64,
    /// From row to row.
    pub pitch: u64,
    /// From slice to slice.
    pub slice: u64,
}

/// A copy of a box of bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Box3 {
    /// Where to.
    pub target: Side,
    /// Where from.
    pub source: Side,
    /// Bytes of a row.
    pub width: u64,
    /// Rows of a slice.
    pub height: u64,
    /// Slices.
    pub depth: u64,
}

impl Box3 {
    /// A plain range.
    #[must_use]
    pub fn line(target: u64, source: u64, bytes: u64) -> Self {
        let side = |start| Side { start, pitch: bytes, slice: bytes };
        Self { target: side(target), source: side(source), width: bytes, height: 1, depth: 1 }
    }
}

/// A fill of rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fill {
    /// The first byte.
    pub target: u64,
    /// From row to row.
    pub pitch: u64,
    /// What is written; of it the lowest bytes.
    pub value: u32,
    /// How many bytes of it: 1, 2 or 4.
    pub element: u32,
    /// Elements of a row.
    pub width: u64,
    /// Rows.
    pub height: u64,
}

/// A function of the program's and its argument, as numbers: only the program can call it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HostCall {
    /// The function.
    pub function: u64,
    /// Its argument.
    pub data: u64,
}

/// Memory of a graph. Its address is the same at every launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GraphAllocation {
    /// Where it lies.
    pub address: u64,
    /// What was asked for.
    pub size: u64,
    /// Its device.
    pub device: usize,
}

/// Graphs of which a value that kernels set decides. Kernels do nothing here, so that the value stays
/// what it was at the launch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conditional {
    /// The value's handle.
    pub handle: u64,
    /// 0 for "if", 1 for "while", 2 for "switch".
    pub kind: u32,
    /// The graphs.
    pub bodies: Vec<GraphId>,
}
