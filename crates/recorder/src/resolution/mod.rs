//! How driver functions are resolved: however a program reaches a driver function, it gets the hook.
//!
//! It may be linked against the driver (the hooks' own names come first), ask `dlsym` or `dlvsym`
//! (`look_up`), or ask the driver itself through `cuGetProcAddress` (`proc_address`). The real functions
//! lie behind `real`.

pub(crate) mod look_up;
pub(crate) mod lookup_log;
pub(crate) mod proc_address;
pub(crate) mod real;
pub(crate) mod unload;
