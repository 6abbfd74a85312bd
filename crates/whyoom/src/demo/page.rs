//! A report, opened in the browser.

use std::{
    ffi::OsStr,
    path::Path,
    process::{Command, Stdio},
};

use crate::{executable, terminal::say};

/// What opens a file as a double click does.
const OPENERS: [&str; 2] = ["xdg-open", "open"];

/// Opens a report; where nothing can, says where it is.
pub(super) fn open(report: &Path) {
    let shown = report.display();
    let Some(opener) = OPENERS.iter().find_map(|name| executable::find(OsStr::new(name))) else {
        say(&format!(
            "nothing here opens a browser ({}): open {shown} yourself",
            OPENERS.join(", ")
        ));
        return;
    };
    let mut command = Command::new(opener);
    command.arg(report).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    if !command.status().is_ok_and(|status| status.success()) {
        say(&format!("the browser did not start: open {shown} yourself"));
    }
}
