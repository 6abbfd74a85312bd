//! Why a script cannot be run in a process.

use std::io;

/// What is in the way. Each message says what to do next.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AttachError {
    /// There is no such process.
    #[error("there is no process {0}; whyoom who lists those that hold GPU memory")]
    NoProcess(u32),
    /// It has ended, and its parent has not yet asked how.
    #[error("process {0} has ended; only its entry in the process table is left")]
    Ended(u32),
    /// It ended while it was looked at.
    #[error("process {0} ended meanwhile")]
    EndedMeanwhile(u32),
    /// It started another program, or got another user, since it was first looked at.
    #[error(
        "process {0} started another program or changed its user while whyoom attached: no further function was \
         called in it; attach again if it still runs Python"
    )]
    Changed(u32),
    /// It runs Python, but no interpreter.
    #[error(
        "the interpreter of process {0} has ended, or has not begun: there is nothing to look into"
    )]
    NoInterpreter(u32),
    /// It belongs to somebody else.
    #[error(
        "process {pid} belongs to another user (UID {uid}): run whyoom as that user, or as root (sudo \
         whyoom attach {pid})"
    )]
    OtherUser {
        /// The process.
        pid: u32,
        /// Its user.
        uid: u32,
    },
    /// Another debugger has it.
    #[error("process {pid} is already being debugged, by process {tracer}: end that first")]
    AlreadyTraced {
        /// The process.
        pid: u32,
        /// Who debugs it.
        tracer: u32,
    },
    /// The kernel does not permit it.
    #[error("not permitted to attach to process {pid}: {why}")]
    NotPermitted {
        /// The process.
        pid: u32,
        /// Which permission is missing, and what the operator can do.
        why: String,
    },
    /// It runs no Python.
    #[error("process {0} does not run CPython: none of its files has the interpreter's functions")]
    NotPython(u32),
    /// Its interpreter's file is not the one that it was started from.
    #[error(
        "{path}, which process {pid} runs, was replaced since it started: restart the process to \
         look into it"
    )]
    Replaced {
        /// The process.
        pid: u32,
        /// The file.
        path: String,
    },
    /// It forbids it.
    #[error(
        "process {0} runs a Python whose remote debugging is disabled (PYTHON_DISABLE_REMOTE_DEBUG \
         or -X disable-remote-debug), and {1}"
    )]
    Disabled(u32, String),
    /// gdb is needed, and missing.
    #[error(
        "gdb is needed for Python before 3.14, and is not in PATH: install it (apt install gdb, dnf \
         install gdb, conda install gdb), in the container of the process if it has one"
    )]
    NoDebugger,
    /// gdb cannot put registers back.
    #[error(
        "gdb cannot write the registers of process {pid}, which goes on untouched ({said}): versions before 14 \
         cannot on processors with AMX; install a newer gdb (conda install -c conda-forge gdb) \
         and put it first in PATH"
    )]
    Registers {
        /// The process.
        pid: u32,
        /// gdb's own words.
        said: String,
    },
    /// gdb did not do it.
    #[error("gdb could not do it: {0}")]
    Debugger(String),
    /// A signal ended the waiting for a call.
    #[error(
        "gave up waiting for process {pid}: gdb (process {debugger}) has a function called there, which waits for \
         the interpreter. When it returns, gdb lets the process go and ends. Do not end gdb \
         before: process {pid} would crash"
    )]
    CallGivenUp {
        /// The process.
        pid: u32,
        /// gdb.
        debugger: u32,
    },
    /// A signal ended it.
    #[error("interrupted")]
    Interrupted,
    /// Nowhere to put the call's text.
    #[error("no unused memory was found in process {0} to put the call into")]
    NoRoom(u32),
    /// What the process's memory says cannot be.
    #[error("the interpreter of process {pid} is laid out in an unknown way ({what})")]
    Unknown {
        /// The process.
        pid: u32,
        /// What was looked for.
        what: &'static str,
    },
    /// A file or the process's memory cannot be read or written.
    #[error("cannot {what}: {error}")]
    Io {
        /// What was tried.
        what: String,
        /// What the system said.
        error: io::Error,
    },
}

impl AttachError {
    pub(crate) fn io(what: impl Into<String>, error: io::Error) -> Self {
        Self::Io { what: what.into(), error }
    }
}
