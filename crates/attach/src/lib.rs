//! Runs a script in the Python of another process, which was not started for it.
//!
//! - [`Target`] is a process that may be looked at: it exists, is the same user's, and the kernel permits it.
//! - [`Interpreter`] is where its Python lies, from the files that it has mapped.
//! - [`run_script`] has the interpreter run a script: Python 3.14 and later are asked themselves (PEP 768), older ones
//!   by gdb, which stops the process for one call and leaves the rest to a safe point of the interpreter.
//!
//! A process may lie: what is read from its memory and its files is checked before it is used as an address, and
//! nothing is written but where the interpreter itself or its image says.

mod debugger;
mod debugger_script;
mod elf;
mod error;
mod identity;
mod injection;
mod interpreter;
mod interrupts;
pub mod maps;
mod memory;
mod permission;
pub mod remote_exec;
mod root;
mod scratch;
mod status;
mod target;
mod waiting;

pub use self::{
    elf::Image,
    error::AttachError,
    injection::{Injected, Route, run_script},
    interpreter::{Interpreter, Version},
    interrupts::Interrupts,
    memory::{Memory, ProcessMemory},
    root::ProcessRoot,
    target::{Target, started},
};
