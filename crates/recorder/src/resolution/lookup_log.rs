//! A log for tests: every look-up of a driver function, as a line of a file that
//! `WHYOOM_RECORDER_LOOKUPS` names.

use std::{
    ffi::CStr,
    fs::{File, OpenOptions},
    io::Write,
    sync::OnceLock,
};

use crate::hook::Hook;

static FILE: OnceLock<Option<File>> = OnceLock::new();

/// Opens the file, if one was asked for.
pub(crate) fn prepare() {
    FILE.get_or_init(|| {
        let path = std::env::var_os("WHYOOM_RECORDER_LOOKUPS")?;
        OpenOptions::new().append(true).create(true).open(path).ok()
    });
}

/// Notes a look-up: by which function, of which name, and what was given for it.
pub(super) fn saw(by: &str, name: &CStr, version: i32, hook: Option<&'static Hook>) {
    let Some(Some(file)) = FILE.get() else { return };
    let name = name.to_string_lossy();
    let given = hook.map_or("as it is".into(), |hook| hook.symbol.to_string_lossy());
    // One write a line, so that the lines of several processes stay whole.
    let line = format!("{by} {name} {version} {given}\n");
    let mut file = file;
    let _ = file.write_all(line.as_bytes());
}
