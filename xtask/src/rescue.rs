//! `cargo xtask rescue`: a program dies fragmented on the lab; `whyoom why` names a setting and the peak
//! that it would have had; the program is run again with it.

use anyhow::{Context, Result, ensure};
use whyoom_trace::Bytes;

use crate::{
    lab::Bench,
    tools::{environment, number, root, scratch, why},
};

const FLAGS: &[&str] = &["--gpu", "rtx-4090", "--memory", "3650MiB"];
/// The predicted peak may be so far from the real one.
const BAR: f64 = 0.01;

pub(crate) fn run(_: &[String]) -> Result<()> {
    let bench = Bench::prepare()?;
    let python = environment("torch")?.join("bin/python").display().to_string();
    let script = root().join("tests/scenarios/torch/fragmented.py").display().to_string();
    let snapshot = scratch("rescue")?.join("oom.pickle");
    let _ = std::fs::remove_file(&snapshot);
    let command = [python, script, snapshot.display().to_string()];
    let died = bench.run(FLAGS, &command)?;
    ensure!(!died.success && snapshot.is_file(), "it should die: {}", died.stderr);

    let answer = why(&bench.binaries.join("whyoom"), &[&snapshot])?;
    let verdict = &answer["verdict"];
    ensure!(verdict["cause"] == "fragmented-cache", "the verdict is {}", verdict["cause"]);
    let remedy = &verdict["remedies"][0];
    ensure!(remedy["proved"] == true, "nothing was proved: {remedy}");
    let line = remedy["paste"].as_str().context("no line to paste")?;
    let setting = line.split_once('=').context("the line sets nothing")?;
    let name = setting.0.trim_start_matches("export ").to_owned();
    println!("{line}");

    let settings = [(name, setting.1.to_owned())];
    let lived = bench.run_with(FLAGS, &command, &settings)?.figures()?;
    let predicted = number(&remedy["proof"]["peak_reserved_bytes"]);
    let real = number(&lived["peak_reserved"]);
    println!("{:<10} {:>12}", "predicted", Bytes(predicted as u64).to_string());
    println!("{:<10} {:>12}", "real", Bytes(real as u64).to_string());
    let off = (predicted - real).abs() / real;
    ensure!(off <= BAR, "the prediction is {:.2} % off", off * 100.0);
    println!(
        "rescue: a program that died runs with {line}, its peak {:.2} % from the predicted one",
        off * 100.0
    );
    Ok(())
}
