//! Names for native addresses, after the run.
//!
//! A recording holds addresses and the modules that were loaded: path, bias and build id. Here
//! they become functions, files and lines: from debug information where there is some, with
//! inlined calls; else from the symbol table; else the library and the place in it. A file whose
//! build id is not the recorded one gives no names at all.
//!
//! Whoever made the recording chose the paths, so that they can have any regular file of the reader's machine
//! opened. Nothing of it is shown but the names of functions and source files in a program or library that has
//! the build id that the recording tells.

mod elf;
mod library;
mod names;
mod resolver;
mod symbol_table;

pub use names::short;
pub use resolver::Symbols;
