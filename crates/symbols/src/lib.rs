//! Names for native addresses, after the run.
//!
//! A recording holds addresses and the modules that were loaded: path, bias and build id. Here
//! they become functions, files and lines: from debug information where there is some, with
//! inlined calls; else from the symbol table; else the library and the place in it. A file whose
//! build id is not the recorded one gives no names at all.

mod library;
mod names;
mod resolver;

pub use names::short;
pub use resolver::Symbols;
