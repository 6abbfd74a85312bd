//! Objects with damage: counted and left out, and no panic on standard error. Incidents of other objects are reported.

use std::{fs, process::Command};

use anyhow::{Result, ensure};
use harness::{Build, Held, Random, empty_folder};
use serde_json::Value;

use super::super::engines;

/// Damaged objects that are read.
const DAMAGED: u64 = 400;

pub(super) fn run() -> Result<Held> {
    let archive = empty_folder("fleet-damaged")?;
    let mut random = Random::default();
    for object in 0..2 {
        let numbers = [2 * object, 2 * object + 1];
        let incidents = numbers.map(|number| engines::incident(number, 0, &mut random));
        engines::write(&archive, object, 0, &incidents)?;
    }
    let name = "incidents/date=2026-10-19/00-n-a-0000000000.parquet";
    let object = archive.join(name);
    let whole = fs::read(&object)?;
    let mut left_out = 0;
    for number in 0..DAMAGED {
        let mut bytes = whole.clone();
        for _ in 0..=number % 3 {
            let at = random.within(0..bytes.len() as u64) as usize;
            bytes[at] = random.within(0..256) as u8;
        }
        fs::write(&object, &bytes)?;
        let mut fleet = Command::new(Build::fleet()?);
        fleet.arg("report").arg(&archive).arg("--json").env("RUST_BACKTRACE", "full");
        let ended = fleet.output()?;
        let said = String::from_utf8_lossy(&ended.stderr);
        ensure!(ended.status.success(), "object {number}: {}: {said}", ended.status);
        ensure!(!said.contains("panicked"), "object {number}: {said}");
        let report: Value = serde_json::from_slice(&ended.stdout)?;
        let (incidents, damaged) = (&report["incidents"], &report["damaged_objects"]);
        if damaged["count"] == 0 {
            ensure!(said.is_empty(), "object {number}: {said}");
            continue;
        }
        ensure!(*incidents == 2, "object {number}: {incidents} incidents of the other object");
        ensure!(damaged["count"] == 1 && damaged["first"][0] == name, "{damaged}");
        let is_counted = said.starts_with("1 objects left out") && said.contains(name);
        ensure!(is_counted && said.lines().count() == 1, "object {number}: {said}");
        left_out += 1;
    }
    ensure!(left_out > DAMAGED / 4, "only {left_out} of {DAMAGED} are left out");
    Ok(Held::new(format!(
        "{DAMAGED} damaged objects: {left_out} are left out and counted in one line each, the other object is reported, \
         no panic is printed"
    )))
}
