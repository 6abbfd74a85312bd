//! Pickles that attack the parser are refused, in bounded time and memory.

use std::{process::Command, time::Instant};

use anyhow::{Context, Result, ensure};
use harness::{Build, Held, empty_folder, from_slice, root, shared_data};
use serde::Deserialize;
use whyoom_memory::Model;
use whyoom_sources::torch_snapshot;
use whyoom_trace::{Bytes, Tables};

/// Refusing must take no longer than this.
const MAX_SECONDS: f64 = 5.0;
/// Nor more than this: a file of 50 MB may be held in a few times its size.
const MAX_RESIDENT: Bytes = Bytes(1 << 30);

/// There must be as many.
const INPUTS: usize = 26;

/// What `pickles.py` prints.
#[derive(Deserialize)]
struct Answers {
    cases: Vec<Answer>,
    /// Whether a pickle ran a command.
    owned: bool,
}

#[derive(Deserialize)]
struct Answer {
    name: String,
    expected: i32,
    status: i32,
    message: String,
    seconds: f64,
    resident: u64,
}

pub(super) fn refused() -> Result<Held> {
    let folder = empty_folder("hostile-pickles")?;
    let mut script = Command::new("python3");
    script.arg(root().join("tests/suites/hostile/pickles.py"));
    let output = script.arg(Build::ready()?.whyoom()).arg(folder).output()?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let answers: Answers = from_slice(&output.stdout)?;
    ensure!(!answers.owned, "a pickle ran a command");
    ensure!(answers.cases.len() == INPUTS, "{} inputs, not {INPUTS}", answers.cases.len());
    println!("{:<40} {:>6} {:>8} {:>12}  message", "input", "exit", "time", "resident");
    for answer in &answers.cases {
        answer.check()?;
    }
    Ok(Held::new("refused or judged in bounds").count("pickles", INPUTS as u64))
}

impl Answer {
    fn check(&self) -> Result<()> {
        let Self { name, expected, status, message, seconds, .. } = self;
        let (resident, start) = (Bytes(self.resident), message.chars().take(90));
        println!(
            "{name:<40} {status:>6} {seconds:>6.2} s {:>12}  {}",
            resident.to_string(),
            start.collect::<String>()
        );
        ensure!(status == expected, "{name}: exit status {status}, not {expected}");
        ensure!(!message.contains("panicked"), "{name}: {message}");
        ensure!(*seconds < MAX_SECONDS && resident < MAX_RESIDENT, "{name}: not bounded");
        Ok(())
    }
}

/// Every prefix of a file must be refused, and the whole accepted.
pub(super) fn truncated() -> Result<Held> {
    let file = shared_data()?.join("torch-snapshots/lm-tiny-mem_snapshot.pickle");
    let bytes = std::fs::read(&file).with_context(|| file.display().to_string())?;
    let started = Instant::now();
    for length in 0..bytes.len() {
        ensure!(import(&bytes[..length]).is_err(), "cut at byte {length} it was accepted");
    }
    ensure!(import(&bytes).is_ok(), "the whole file was refused");
    let seconds = started.elapsed().as_secs_f64();
    Ok(Held::new(format!("each refused, in {seconds:.1} s"))
        .count("truncations", bytes.len() as u64))
}

fn import(bytes: &[u8]) -> Result<(), torch_snapshot::SnapshotError> {
    let (mut tables, mut model) = (Tables::default(), Model::default());
    let process = tables.process("truncated");
    torch_snapshot::import(bytes, process, &mut tables, &mut model).map(drop)
}
