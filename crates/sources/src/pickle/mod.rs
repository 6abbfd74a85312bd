//! A pickle reader that executes nothing.
//!
//! Every opcode that could import, call or build an object is refused. What remains is plain data:
//! numbers, strings, lists and dicts, kept in a [`Document`].

mod document;
mod error;
mod input;
mod machine;

pub(crate) use document::{Document, Node, Packed, TextId, Value};
pub use error::PickleError;
pub(crate) use machine::parse;

#[cfg(test)]
mod tests;
