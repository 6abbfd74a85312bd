//! `whyoom mcp`: what whyoom answers, as tools of the Model Context Protocol, for assistants and editors.
//!
//! - [`serve()`] speaks the protocol on standard input and output until the client has gone;
//! - `folders` opens what lies in the folders that the person gave, and nothing else;
//! - `given_names` puts the names that the client knows into answers, quoted where a line may be pasted;
//! - `allowed` knows which programs may be run;
//! - `whyoom` asks whyoom itself, as a process with limits: what strangers wrote is never parsed here;
//! - `tool` is what a tool is, and `tools` has one file for each: what it takes, what it asks, and its answer in few words.
#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::disallowed_methods))]

mod allowed;
mod amount;
mod ending;
mod folders;
mod given_names;
mod quoted;
mod refusal;
mod room;
mod serve;
mod server;
mod stdio;
mod tool;
mod tools;
mod whyoom;

use std::path::PathBuf;

pub use serve::{ServeError, serve};
pub use whyoom::PARENT_VARIABLE;

/// What the person allowed at start.
#[derive(Debug)]
pub struct Settings {
    /// The program that is asked.
    pub whyoom: PathBuf,
    /// Its version.
    pub version: &'static str,
    /// Files below these may be read. Relative paths begin in the first, and programs run there.
    pub folders: Vec<PathBuf>,
    /// The first words of commands that may be run.
    pub allowed: Vec<String>,
}
