//! A report, opened in the browser.

use std::{
    ffi::OsStr,
    path::Path,
    process::{Command, Stdio},
};

use crate::{on_path::find, terminal::say};

/// What opens a file as a double click does, with what precedes the file's name.
const OPENERS: &[(&str, &[&str])] = if cfg!(windows) {
    &[("rundll32.exe", &["url.dll,FileProtocolHandler"])]
} else {
    &[("xdg-open", &[]), ("open", &[])]
};

/// Opens a report; where nothing can, says where it is.
pub(super) fn open(report: &Path) {
    let shown = report.display();
    let found = |(name, words): &(&str, &'static [&str])| Some((find(OsStr::new(name))?, *words));
    let Some((opener, words)) = OPENERS.iter().find_map(found) else {
        let names: Vec<&str> = OPENERS.iter().map(|(name, _)| *name).collect();
        let names = names.join(", ");
        say(&format!("nothing here opens a browser ({names}): open {shown} yourself"));
        return;
    };
    let mut command = Command::new(opener);
    command
        .args(words)
        .arg(report)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    if !command.status().is_ok_and(|status| status.success()) {
        say(&format!("the browser did not start: open {shown} yourself"));
    }
}
