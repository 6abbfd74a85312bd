//! Loaded code: modules and their functions, and what it takes to launch one.

use std::collections::HashMap;

use super::ids::{ContextId, FunctionId, ModuleId};
use crate::{image::Image, machine::Effect, timeline::StreamId};

pub(crate) struct Module {
    /// The context it was loaded in; none for a library, which is loaded in all.
    pub(crate) context: Option<ContextId>,
    pub(crate) image: Image,
    pub(crate) functions: HashMap<String, FunctionId>,
    pub(crate) variables: HashMap<String, (u64, u64)>,
}

pub(crate) struct Function {
    pub(crate) module: ModuleId,
    pub(crate) name: String,
    pub(crate) max_dynamic_shared: u32,
    pub(crate) effect: Option<Effect>,
    /// Whether a launch of it did not come to an end: no other is computed.
    pub(crate) stuck: bool,
}

/// A launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Launch {
    /// What is launched.
    pub function: FunctionId,
    /// Blocks.
    pub grid: [u32; 3],
    /// Threads of a block.
    pub block: [u32; 3],
    /// Dynamic shared memory of a block.
    pub shared: u32,
    /// Where.
    pub stream: StreamId,
}
