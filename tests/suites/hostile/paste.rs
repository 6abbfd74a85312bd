//! What an input holds is in no line to paste, but for words that a shell takes for words.

use std::process::Command;

use anyhow::{Result, ensure};
use harness::{Build, Check, Held, empty_folder, root, text};

/// The checks of `paste.py`.
const NAMES: [(&str, &str); 7] = [
    ("paste::gpu-name", "gpu-name"),
    ("paste::senders-command", "senders-command"),
    ("paste::shell-words", "shell-words"),
    ("paste::process-ids", "process-ids"),
    ("paste::mcp-marks", "mcp-marks"),
    ("paste::mcp-paths", "mcp-paths"),
    ("paste::mcp-killed", "mcp-killed"),
];

pub(super) fn checks() -> impl Iterator<Item = Check> {
    NAMES.into_iter().map(|(check, name)| Check::new(check, move || held(name)))
}

/// Runs a check of the script: what it prints is what held, or what did not.
fn held(name: &str) -> Result<Held> {
    let folder = empty_folder(&format!("hostile-paste-{name}"))?;
    let whyoom = text(&Build::ready()?.whyoom());
    let script = text(&root().join("tests/suites/hostile/paste.py"));
    let words = ["600", "python3", &script, name, &whyoom, &text(&root()), &text(&folder)];
    let output = Command::new("timeout").args(words).output()?;
    let said = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    ensure!(output.status.success(), "{said}\n{}", String::from_utf8_lossy(&output.stderr));
    Ok(Held::new(said))
}
