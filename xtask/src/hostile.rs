//! `cargo xtask hostile`: what attacks the parser is refused, in bounded time and memory.

use std::{path::Path, time::Instant};

use anyhow::{Context, Result, ensure};
use whyoom_memory::Model;
use whyoom_sources::torch_snapshot;
use whyoom_trace::{Bytes, Tables};

use crate::tools::{number, python, root, scratch, shared_data, skipped, whyoom};

/// Refusing must take no longer than this.
const MAX_SECONDS: f64 = 5.0;
/// Nor more than this: a file of 50 MB may be held in a few times its size.
const MAX_RESIDENT: Bytes = Bytes(1 << 30);

pub(crate) fn run(_: &[String]) -> Result<()> {
    let folder = scratch("hostile")?;
    let report = python("hostile.py", &[&whyoom()?, &folder])?;
    ensure!(report["owned"] == false, "a pickle ran a command");
    let cases = report["cases"].as_array().context("no cases")?;
    println!("{:<40} {:>6} {:>8} {:>12}  message", "input", "exit", "time", "resident");
    for case in cases {
        let (seconds, resident) =
            (number(&case["seconds"]), Bytes(number(&case["resident"]) as u64));
        let name = case["name"].as_str().unwrap_or_default();
        let message = case["message"].as_str().unwrap_or_default();
        println!(
            "{name:<40} {:>6} {seconds:>6.2} s {:>12}  {}",
            case["status"],
            resident.to_string(),
            message.chars().take(90).collect::<String>()
        );
        let (status, expected) = (&case["status"], &case["expected"]);
        ensure!(status == expected, "{name}: exit status {status}, not {expected}");
        ensure!(!message.contains("panicked"), "{name}: {message}");
        ensure!(seconds < MAX_SECONDS && resident < MAX_RESIDENT, "{name}: not bounded");
    }
    let cuts = truncate_everywhere()?;
    println!(
        "hostile: {} inputs refused or judged in bounds, {cuts} truncations refused",
        cases.len()
    );
    Ok(())
}

/// Every prefix of a file must be refused, and the whole accepted.
fn truncate_everywhere() -> Result<usize> {
    let file = match shared_data() {
        Some(shared) => shared.join("torch-snapshots/lm-tiny-mem_snapshot.pickle"),
        None => {
            skipped("truncation of a real snapshot (a made one is used)");
            root().join("tests/fixtures/snapshots/working-set-oom.pickle")
        }
    };
    let bytes = std::fs::read(&file).with_context(|| file.display().to_string())?;
    let started = Instant::now();
    for length in 0..bytes.len() {
        ensure!(import(&bytes[..length]).is_err(), "cut at byte {length} it was accepted");
    }
    ensure!(import(&bytes).is_ok(), "the whole file was refused");
    let name = Path::new(&file).file_name().unwrap_or_default().to_string_lossy();
    println!(
        "{name} cut at each of its {} bytes: {:.1} s",
        bytes.len(),
        started.elapsed().as_secs_f64()
    );
    Ok(bytes.len())
}

fn import(bytes: &[u8]) -> Result<(), torch_snapshot::SnapshotError> {
    let (mut tables, mut model) = (Tables::default(), Model::default());
    let process = tables.process("truncated");
    torch_snapshot::import(bytes, process, &mut tables, &mut model).map(drop)
}
