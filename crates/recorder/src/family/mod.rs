//! The hooked functions of the driver, one file a family.

mod arrays;
pub(crate) mod captures;
mod code;
mod contexts;
mod copies;
mod device;
mod graph_nodes;
mod graphs;
mod host;
mod ipc;
mod launches;
mod limits;
mod physical;
pub(crate) mod pools;
mod streams;
mod synchronize;
mod virtual_memory;

use crate::{hook::Hook, mark, port, road::proc_address};

/// The hooks of all families.
pub(crate) static TABLES: &[&[&Hook]] = &[
    proc_address::HOOKS,
    device::HOOKS,
    arrays::HOOKS,
    pools::HOOKS,
    virtual_memory::HOOKS,
    host::HOOKS,
    ipc::HOOKS,
    contexts::HOOKS,
    limits::HOOKS,
    code::HOOKS,
    graphs::HOOKS,
    captures::HOOKS,
    launches::HOOKS,
    copies::HOOKS,
    synchronize::HOOKS,
    streams::HOOKS,
];

/// What families remember of the process, beside the memory that it holds.
#[derive(Default)]
pub(crate) struct State {
    pub(crate) contexts: contexts::Contexts,
    graphs: graphs::Graphs,
    pools: pools::Pools,
    physical: physical::Physical,
    pub(crate) port: port::Kept,
    pub(crate) marks: mark::Kept,
}

/// What a call wrote for its caller.
///
/// # Safety
/// The pointer is null, or points to a value that the call has written.
unsafe fn written<T: Copy + Default>(place: *const T) -> T {
    if place.is_null() {
        return T::default();
    }
    // SAFETY: the caller says so; C does not promise alignment.
    unsafe { place.read_unaligned() }
}
