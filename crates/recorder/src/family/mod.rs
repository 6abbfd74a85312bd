//! The hooked functions of the driver, one file a family. Each keeps what it remembers of the process.

pub(crate) mod arrays;
pub(crate) mod captures;
pub(crate) mod code;
pub(crate) mod contexts;
pub(crate) mod copies;
pub(crate) mod device;
mod graph_nodes;
pub(crate) mod graphs;
pub(crate) mod host;
pub(crate) mod ipc;
pub(crate) mod launches;
pub(crate) mod limits;
mod out_parameter;
mod physical;
pub(crate) mod pools;
pub(crate) mod refusals;
pub(crate) mod streams;
pub(crate) mod synchronize;
pub(crate) mod virtual_memory;
