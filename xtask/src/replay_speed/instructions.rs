//! Instructions, counted by callgrind in a run of this very binary.

use std::process::Command;

use anyhow::{Context, Result, ensure};

/// Few: callgrind is some fifty times slower than the machine.
const TURNS: usize = 30;

/// Instructions of one event of a turn, the loop's included; `None` where there is no valgrind.
pub(super) fn per_event(subject: &str, events: usize) -> Result<Option<f64>> {
    let mut valgrind = Command::new("valgrind");
    // Only what happens in turns counts, not the reading of the recording.
    valgrind.args(["--tool=callgrind", "--callgrind-out-file=/dev/null"]);
    valgrind.arg("--toggle-collect=*replay_speed*subject*Subject*replay*");
    valgrind.arg(std::env::current_exe()?).arg("replay-speed");
    valgrind.args(["--turns", &TURNS.to_string(), "--subject", subject]);
    let Ok(output) = valgrind.output() else { return Ok(None) };
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{valgrind:?}: {said}");
    let collected = said.lines().find_map(|line| line.split_once("Collected : "));
    let (_, collected) = collected.context("callgrind gave no count")?;
    let collected: f64 = collected.trim().parse()?;
    ensure!(collected > 0.0, "callgrind saw nothing of the loop");
    Ok(Some(collected / (TURNS * events) as f64))
}
