//! The preload library: sees every CUDA driver call that matters, and PyTorch's blocks, and never
//! changes what the program sees.
//!
//! - `resolution` is the way in: however a program reaches a driver function, it gets the hook.
//! - `hook_table` is the one table of hooks; `family` declares them (`declare`), one file a family, and
//!   keeps what each needs to know.
//! - `record` is what a hook does around the real call: it knows no hook, and fails open.
//! - `torch` is PyTorch's own report of its blocks; `pool_callbacks` is that of whyoom's memory pool, and
//!   `serve` has the pool answer in the driver's place where it is asked to. `mark` is the program's own word.
//!
//! `WHYOOM_RECORDING` names the folder of the recording; without it every hook only passes on.

mod allocator;
mod declare;
mod family;
pub mod hook;
pub mod hook_table;
mod mark;
mod nn_modules;
mod pool_callbacks;
mod record;
mod resolution;
mod result_code;
mod serve;
mod start;
mod torch;
