//! Instructions of an allocation and its free, counted by callgrind.

use anyhow::{Context, Result, ensure};

use crate::recorder::{
    stage::Stage,
    trial::{Trial, text},
};
use std::path::Path;

/// Small: callgrind has too few addresses for a larger device.
const DEVICE: &str = "2GiB";
/// Few: callgrind is some fifty times slower than the machine.
const PAIRS: u32 = 4096;

/// Instructions of a pair; `None` where there is no valgrind.
pub(super) fn of_pair(
    stage: &Stage,
    program: &Path,
    pool: &Path,
    allocator: &str,
    pattern: &str,
) -> Result<Option<f64>> {
    let found = std::process::Command::new("valgrind").arg("--version").output();
    if found.is_err() {
        return Ok(None);
    }
    let valgrind = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null"];
    let mut command = valgrind.map(str::to_owned).to_vec();
    command.extend(["--toggle-collect=*counted_turn*".to_owned(), text(program), text(pool)]);
    command.extend([allocator.to_owned(), pattern.to_owned(), PAIRS.to_string()]);
    let ran = Trial::new(DEVICE, &command).plain(stage)?;
    ensure!(ran.status == 0, "{}", ran.stderr);
    let collected = ran.stderr.lines().find_map(|line| line.split_once("Collected : "));
    let (_, collected) = collected.context("callgrind gave no count")?;
    let collected: f64 = collected.trim().parse()?;
    ensure!(collected > 0.0, "callgrind saw nothing of the loop");
    Ok(Some(collected / f64::from(PAIRS)))
}
