//! What can go wrong.

use std::io;

use thiserror::Error;

/// Why the live view ended by itself.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum TopError {
    /// The terminal cannot be read or written.
    #[error("the terminal cannot be used ({0}); `whyoom top --once` prints one page instead")]
    Terminal(#[from] io::Error),
    /// The thread that looks at the devices has ended.
    #[error("reading the devices failed; see `whyoom who`")]
    SamplerEnded,
}

/// Why a signal was not sent.
#[derive(Debug, Error)]
pub(crate) enum SendError {
    #[error("process {pid} has exited: nothing was sent")]
    Gone { pid: u32 },
    #[error("PID {pid} now belongs to another process: nothing was sent")]
    Another { pid: u32 },
    #[error("process {pid} is not yours: sudo kill -{signal} {pid} would send it")]
    NotAllowed { pid: u32, signal: &'static str },
    #[error("cannot signal process {pid}: {source}")]
    Other { pid: u32, source: io::Error },
}
