//! The one table of all hooks, and who hands them out.
//!
//! Each family of driver functions declares its hooks with `hooks!` in a file of its own; the table
//! is the families one behind the other. `cuGetProcAddress`, which is one of them, answers with any of
//! them, so that it stands here. Nothing that a hook needs looks into the table.

use std::ffi::{CStr, c_char, c_void};

use crate::{
    declare::hooks,
    family::{
        arrays, captures, code, contexts, copies, device, graphs, host, ipc, launches, limits,
        pools, refusals, streams, synchronize, virtual_memory,
    },
    hook::Hook,
    mark, nn_modules, pool_callbacks,
    resolution::proc_address,
    torch,
};

hooks! { Resolution;
    Optional (
        name: *const c_char,
        function: *mut *mut c_void,
        version: i32,
        flags: u64,
        status: *mut u32,
    )
    [cuGetProcAddress_v2 = "cuGetProcAddress" since 12000]
    look_up { |result| proc_address::replace(table, (name, function, version, flags), result) }

    Optional (
        name: *const c_char,
        function: *mut *mut c_void,
        version: i32,
        flags: u64,
    )
    [cuGetProcAddress = "cuGetProcAddress" since 11030 until 12000]
    look_up { |result| proc_address::replace(table, (name, function, version, flags), result) }
}

/// The hooks of all families.
static TABLES: &[&[&Hook]] = &[
    HOOKS,
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
    refusals::HOOKS,
    synchronize::HOOKS,
    streams::HOOKS,
];

/// The hooks, family by family.
pub fn table() -> impl Iterator<Item = &'static Hook> {
    TABLES.iter().flat_map(|table| table.iter().copied())
}

/// The hook of an exported name.
pub(crate) fn by_symbol(name: &CStr) -> Option<&'static Hook> {
    table().find(|hook| hook.symbol == name)
}

/// The hook of that name, PyTorch's, the pool's and those of marks and modules included. What one exports may be what
/// another is called.
pub(crate) fn named(name: &str) -> Option<&'static Hook> {
    let told = || mark::HOOKS.iter().chain(nn_modules::HOOKS);
    let others = || torch::HOOKS.iter().chain(pool_callbacks::HOOKS).chain(told()).copied();
    let all = || table().chain(others());
    let exported = all().find(|hook| hook.symbol.to_str() == Ok(name));
    exported.or_else(|| all().find(|hook| hook.base == name))
}
