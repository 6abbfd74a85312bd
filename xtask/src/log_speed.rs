//! `cargo xtask log-speed`: a message in the middle of a log of 100 MB, from start to end.

use std::{
    fs::File,
    io::{BufWriter, Write as _},
    path::Path,
    time::Instant,
};

use anyhow::{Result, ensure};
use harness::{Build, Held, documents::Why, root, scratch};
use whyoom_trace::Bytes;

const SIZE: u64 = 100_000_000;
const BAR_SECONDS: f64 = 1.0;
const ROUNDS: usize = 5;

pub(crate) fn run() -> Result<Held> {
    let build = Build::ready()?;
    let log = scratch("log-speed")?.join("train.log");
    write_log(&log)?;
    let mut seconds = Vec::new();
    for _ in 0..ROUNDS {
        let started = Instant::now();
        let answer = Why::ask(build, &[&log])?;
        seconds.push(started.elapsed().as_secs_f64());
        answer.has_cause("working-set")?;
        ensure!(answer.incidents.len() == 4, "not four ranks");
    }
    seconds.sort_by(f64::total_cmp);
    let median = seconds[ROUNDS / 2];
    let size = Bytes(std::fs::metadata(&log)?.len());
    println!("{:<10} {:>12}\n{:<10} {median:>10.3} s", "log", size.to_string(), "median");
    ensure!(median < BAR_SECONDS, "{median:.3} s, over {BAR_SECONDS} s");
    Ok(Held::new(format!("four ranks' messages found in a log of {size} in {median:.3} s")))
}

/// Lines as training writes them, with many words of real messages that are none.
fn write_log(path: &Path) -> Result<()> {
    let messages = std::fs::read_to_string(root().join("tests/fixtures/logs/four-ranks.log"))?;
    let mut out = BufWriter::new(File::create(path)?);
    let (mut written, mut step, mut told) = (0, 0_u64, false);
    while written < SIZE {
        let line = format!(
            "[rank{}]: 2026-11-15 02:00:{:02} INFO trainer.py:88 step {step} loss {:.4} memory 41.2/79.2 GiB allocated, out of {} samples\n",
            step % 8,
            step % 60,
            1.0 / (step + 1) as f64,
            step * 32,
        );
        out.write_all(line.as_bytes())?;
        written += line.len() as u64;
        step += 1;
        if !told && written > SIZE / 2 {
            out.write_all(messages.as_bytes())?;
            told = true;
        }
    }
    Ok(out.flush()?)
}
