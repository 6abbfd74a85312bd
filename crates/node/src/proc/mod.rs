//! /proc, under any root: the live one, or one that was saved for a test. Text of the kernel and of
//! programs is hostile until parsed: no parser here panics, and what cannot be read is absent.

pub mod cgroup;
pub mod environ;
pub mod kernel_log;
pub mod mounts;
mod process;
mod root;
mod scan;
pub mod signs;
pub mod stat;
pub mod status;
mod threads;

pub(crate) use process::Reader;
pub(crate) use root::{Existence, Root};
pub(crate) use scan::{Scan, library_users};
pub(crate) use threads::look_again;
