//! A context, and the limits that a program can set in it.

use std::collections::{HashMap, HashSet};

use whyoom_trace as trace;

use super::ids::{ContextId, ModuleId};
use crate::{error::Error, timeline::StreamId};

/// A limit of a context.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Limit {
    /// The stack of a device thread.
    Stack,
    /// The buffer of in-kernel printing.
    Printf,
    /// The heap of in-kernel allocation.
    DeviceHeap,
}

impl Limit {
    /// What it is at first. Documented in the CUDA programming guide: a heap of 8 MiB and a buffer
    /// of 1 MiB; the stack is what queries show on common devices.
    pub(in crate::driver) fn initial(self) -> u64 {
        match self {
            Self::Stack => 1024,
            Self::Printf => 1 << 20,
            Self::DeviceHeap => 8 << 20,
        }
    }

    pub(in crate::driver) fn traced(self) -> trace::Limit {
        match self {
            Self::Stack => trace::Limit::Stack,
            Self::Printf => trace::Limit::Printf,
            Self::DeviceHeap => trace::Limit::DeviceHeap,
        }
    }
}

pub(crate) struct Context {
    pub(crate) device: usize,
    pub(crate) flags: u32,
    pub(crate) legacy_stream: StreamId,
    pub(crate) limits: HashMap<Limit, u64>,
    pub(crate) peers: Vec<ContextId>,
    /// The modules whose code is loaded.
    pub(crate) code: HashSet<ModuleId>,
    /// A kernel failed: the documentation says that every later call of the context does too.
    pub(crate) broken: Option<Error>,
    /// A kernel failed and nobody has waited for it yet.
    pub(crate) failing: Option<Error>,
}
