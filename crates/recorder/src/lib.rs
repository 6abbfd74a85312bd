//! The preload library: sees every CUDA driver call that matters, and PyTorch's blocks, and never
//! changes what the program sees.
//!
//! - `road` is the way in: however a program reaches a driver function, it gets the hook.
//! - `hook` is the one table of hooks; `family` declares them (`declare`), one file a family.
//! - `record` is what a hook does around the real call; it fails open.
//! - `torch` is PyTorch's own report of its blocks; `port` is that of whyoom's memory pool, and `serve`
//!   has the pool answer in the driver's place where it is asked to. `mark` is the program's own word.
//!
//! `WHYOOM_RECORDING` names the folder of the recording; without it every hook only passes on.

mod allocator;
mod declare;
mod family;
pub mod hook;
mod mark;
mod port;
mod record;
mod road;
mod serve;
mod start;
mod torch;
