//! Several `--vary` against real runs: in each row the script runs at the batch that is named, and runs out of memory
//! at the next one.

use anyhow::{Context, Result, bail, ensure};
use harness::{Held, two_at_a_time};

use super::question::Script;

const GPU: &str = "t4";
/// Four runs in the first row and the last, and two or four in the one that they predict.
const MAX_RUNS: u64 = 12;
/// The largest batch lies in it for every length.
const LAST_BATCH: u64 = 56;

/// The lengths, and how the script is told.
const ROWS: &[(u64, &[&str])] =
    &[(256, &["--seq", "256"]), (512, &["--seq", "512"]), (1024, &["--seq", "1024"])];

const fn script(flags: &'static [&'static str]) -> Script {
    Script { name: "GPT-2 124M", file: "gpt2.py", flags, batches: "1..56" }
}

pub(super) fn run() -> Result<Held> {
    let varied = script(&["--seq", "{seq}"]);
    let frontier = varied.ask_for_frontier(GPU, "seq=256,512,1024")?;
    ensure!((&*frontier.name, &*frontier.by[0]) == ("batch", "seq"), "{frontier:?}");
    ensure!(frontier.runs <= MAX_RUNS, "{} runs", frontier.runs);
    let mut said = Vec::new();
    for ((length, flags), row) in ROWS.iter().zip(&frontier.rows) {
        ensure!(row.values == [*length], "{:?} is not the row of {length}", row.values);
        let [largest] = &row.largest[..] else { bail!("one GPU, but {:?}", row.largest) };
        let named = largest.value.context("nothing fits")?;
        ensure!(largest.confirmed && named < LAST_BATCH, "{length}: {largest:?}");
        let ran = two_at_a_time(&[named, named + 1], |batch| script(flags).runs_on(GPU, *batch));
        match ran.into_iter().collect::<Result<Vec<bool>>>()?[..] {
            [true, false] => said.push(format!("{named} with {length}")),
            [false, _] => bail!("{named} fits with {length}, it says, and runs out of memory"),
            _ => bail!("{named} is the largest with {length}, it says; but {} runs", named + 1),
        }
    }
    ensure!(said.len() == ROWS.len(), "rows are missing: {said:?}");
    let text = format!(
        "{} after {} runs; each runs, and one more does not",
        said.join(", "),
        frontier.runs
    );
    Ok(Held::new(text).count("rows", said.len() as u64).count("runs of --vary", frontier.runs))
}
