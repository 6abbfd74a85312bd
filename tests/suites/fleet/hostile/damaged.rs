//! Objects with damage: an error in words, and no panic on standard error.

use std::{fs, process::Command};

use anyhow::{Result, ensure};
use harness::{Build, Held, Random, empty_folder};

use super::super::engines;

/// Damaged objects that are read.
const DAMAGED: u64 = 400;

pub(super) fn run() -> Result<Held> {
    let archive = empty_folder("fleet-damaged")?;
    let mut random = Random::default();
    let incidents = [0, 1].map(|number| engines::incident(number, 0, &mut random));
    engines::write(&archive, 0, 0, &incidents)?;
    let object = archive.join("incidents/date=2026-10-19/00-n-a-0000000000.parquet");
    let whole = fs::read(&object)?;
    let mut refused = 0;
    for number in 0..DAMAGED {
        let mut bytes = whole.clone();
        for _ in 0..=number % 3 {
            let at = random.within(0..bytes.len() as u64) as usize;
            bytes[at] = random.within(0..256) as u8;
        }
        fs::write(&object, &bytes)?;
        let mut fleet = Command::new(Build::fleet()?);
        fleet.arg("report").arg(&archive).env("RUST_BACKTRACE", "full");
        let ended = fleet.output()?;
        let said = String::from_utf8_lossy(&ended.stderr);
        ensure!(
            matches!(ended.status.code(), Some(0 | 1)),
            "object {number}: {}: {said}",
            ended.status
        );
        ensure!(!said.contains("panicked"), "object {number}: {said}");
        ensure!(said.lines().count() <= 1, "object {number}: {said}");
        refused += u64::from(!ended.status.success());
    }
    ensure!(refused > DAMAGED / 4, "only {refused} of {DAMAGED} are refused");
    Ok(Held::new(format!(
        "{DAMAGED} damaged objects: {refused} are refused in one line each, no panic is printed"
    )))
}
