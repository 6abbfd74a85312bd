//! An interpreter of PTX, the documented assembly language of CUDA, for small kernels on the simulated GPU.
//!
//! A module is parsed as a whole. A kernel that uses anything that is not implemented is refused before it
//! runs, with the name of what it uses. Every access to global memory goes through `Memory`, which decides
//! what exists. Nothing here does I/O.

mod decode;
mod error;
mod kernel;
mod parse;
mod run;
mod step;
mod token;
mod value;

pub use self::{
    error::{Fault, NotPtx, Refused},
    kernel::{Kernel, Module},
    run::{FLOAT_WORK_LIMIT, Launch, Memory, WORK_LIMIT, Wild},
};
