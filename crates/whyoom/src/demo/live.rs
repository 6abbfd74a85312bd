//! A command of whyoom on a simulated GPU, where the simulated GPU is installed.

use super::stories::Live;
use crate::terminal::print_line;

/// Runs the command and shows what it printed. Where that is impossible, the story has its recording.
pub(super) fn show(live: Live) {
    if let Some(output) = output(live) {
        let (lab, words) = (live.lab.join(" "), live.words.join(" "));
        print_line("\nAnd this runs now, on a simulated GPU:");
        print_line(&format!("  $ whyoom lab run {lab} -- whyoom {words}\n"));
        print_line(output.trim_end());
    }
}

#[cfg(target_os = "linux")]
fn output(live: Live) -> Option<String> {
    use std::process::{Command, Stdio};

    use crate::{executable, lab};

    lab::libraries().ok()?;
    let whyoom = executable::own().ok()?;
    let mut command = Command::new(&whyoom);
    command.args(["lab", "run"]).args(live.lab).arg("--").arg(&whyoom).args(live.words);
    let output = command.stdin(Stdio::null()).stderr(Stdio::null()).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    (output.status.success() && !text.is_empty()).then_some(text)
}

/// Elsewhere there is no simulated GPU.
#[cfg(not(target_os = "linux"))]
fn output(_: Live) -> Option<String> {
    None
}
