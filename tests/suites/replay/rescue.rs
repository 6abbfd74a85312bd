//! A program dies fragmented on the lab; `whyoom why` names a setting and the peak that it would have had;
//! the program is run again with it.

use anyhow::{Context, Result, ensure};
use harness::{Build, Held, Trial, documents::Why, python, root, scratch, text};
use serde::Deserialize;
use whyoom_trace::Bytes;

const FLAGS: &[&str] = &["--gpu", "rtx-4090", "--memory", "3650MiB"];
/// How the program ends where it dies.
const DIED: i32 = 3;
/// The predicted peak may be so far from the real one.
const BAR: f64 = 0.01;

/// What the program says where it lives.
#[derive(Deserialize)]
struct Lived {
    peak_reserved: u64,
    peak_allocated: u64,
    peak_at_turn: u64,
    retries: u64,
    free: u64,
}

pub(super) fn run() -> Result<Held> {
    let script = root().join("tests/scenarios/torch/fragmented.py");
    let snapshot = scratch("replay-rescue")?.join("oom.pickle");
    let _ = std::fs::remove_file(&snapshot);
    let trial = Trial::on(FLAGS, &[python()?, text(&script), text(&snapshot)]);
    let died = trial.plain()?;
    ensure!(died.status == DIED && snapshot.is_file(), "it should die: {}", died.stderr);

    let answer = Why::ask(Build::ready()?, &[&snapshot])?;
    answer.has_cause("fragmented-cache")?;
    let remedy = answer.verdict.remedies.first().context("no remedy")?;
    ensure!(remedy.proved, "nothing was proved: {remedy:?}");
    let predicted = remedy.proof.as_ref().context("no proof")?.peak_reserved_bytes;
    let line = remedy.paste.as_deref().context("no line to paste")?;
    let (name, value) = line.split_once('=').context("the line sets nothing")?;
    println!("{line}");

    let lived: Lived = trial
        .with(name.trim_start_matches("export ").trim_matches('\''), value.trim_matches('\''))
        .plain()?
        .figures()?;
    let Lived { peak_reserved: real, peak_allocated, peak_at_turn, retries, free } = lived;
    println!("predicted {}, real {}", Bytes(predicted), Bytes(real));
    println!("{peak_allocated} in use, at turn {peak_at_turn}; {retries} retries, {free} free");
    ensure!(real >= peak_allocated && peak_allocated > 0, "{real} reserved for {peak_allocated}");
    let off = predicted.abs_diff(real) as f64 / real as f64;
    ensure!(off <= BAR, "the prediction is {:.2} % off", off * 100.0);
    Ok(Held::new(format!(
        "a program that died runs with {line}, its peak {:.2} % from the predicted one",
        off * 100.0
    )))
}
