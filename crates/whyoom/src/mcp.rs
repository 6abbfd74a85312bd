//! `whyoom mcp`.

use std::{
    io::{self, IsTerminal},
    path::PathBuf,
};

use anyhow::Result;
use whyoom_mcp::{Settings, serve};

use crate::{arguments::McpArguments, executable, exit_status::ANSWERED, terminal::say};

/// A shell adds this to the number of the signal that ended a program.
const BY_SIGNAL: u8 = 128;

/// The exit code of the command.
pub(crate) fn run(arguments: &McpArguments) -> Result<u8> {
    if io::stdin().is_terminal() {
        say(
            "an editor or an assistant starts this and talks to it; see docs/ci.md. Ctrl-D ends it",
        );
    }
    let mut folders = arguments.folder.clone();
    if folders.is_empty() {
        folders.push(PathBuf::from("."));
    }
    let settings = Settings {
        whyoom: executable::own()?,
        version: env!("CARGO_PKG_VERSION"),
        folders,
        allowed: arguments.allow_run.clone(),
    };
    let signal = serve(&settings)?.and_then(|signal| u8::try_from(signal).ok());
    Ok(signal.map_or(ANSWERED, |signal| BY_SIGNAL.saturating_add(signal)))
}
