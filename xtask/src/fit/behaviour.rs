//! Programs that end, grow, fail or decide in ways that `whyoom fit` must notice.

use std::process::{Command, Output, Stdio};

use anyhow::{Result, ensure};
use serde_json::Value;

use crate::{
    lab::Bench,
    tools::{environment, root},
};

/// A program, what it is asked, how the command must end, and what must be in its notes.
struct Case {
    name: &'static str,
    flags: &'static [&'static str],
    status: i32,
    notes: &'static [&'static str],
}

const CASES: &[Case] = &[
    case("inference", &[], 0, &["calls of the model, when they repeated"]),
    case("accumulation", &[], 0, &["ended after 3 optimizer steps, when they repeated"]),
    case(
        "varying",
        &[],
        0,
        &["differ in size; ended after 80, none of which went higher since the 30th"],
    ),
    case("varying", &["--steps", "7"], 0, &["ended after 7 optimizer steps, as asked"]),
    case("growing", &[], 0, &["each step leaves 256.00 KiB more behind"]),
    case("deciding", &[], 0, &["read values back", "asked once how much memory is free"]),
    case("workers", &[], 0, &["ended after 3 optimizer steps, when they repeated"]),
    case("short", &[], 0, &["ran to its end, with 1 optimizer steps"]),
    case("short", &["--assert", "peak<2GiB", "--assert", "headroom>0"], 0, &[]),
    case("short", &["--assert", "allocated>=1GiB"], 3, &[]),
    case("failing", &[], 4, &[]),
];

const fn case(
    name: &'static str,
    flags: &'static [&'static str],
    status: i32,
    notes: &'static [&'static str],
) -> Case {
    Case { name, flags, status, notes }
}

pub(super) fn run(bench: &Bench) -> Result<String> {
    for case in CASES {
        let output = case.run(bench)?;
        let said = String::from_utf8_lossy(&output.stderr);
        let status = output.status.code();
        println!("{:<14} {:<34} status {}", case.name, case.flags.join(" "), output.status);
        ensure!(status == Some(case.status), "status {status:?}, not {}:\n{said}", case.status);
        if case.name == "failing" {
            ensure!(
                said.contains("the data set is missing"),
                "its last line is not shown:\n{said}"
            );
            continue;
        }
        let answer: Value = serde_json::from_slice(&output.stdout)?;
        for note in case.notes {
            ensure!(has_note(&answer, note), "no note '{note}' in {}", answer["notes"]);
        }
    }
    launched(bench)?;
    Ok(format!("{} programs are ended and judged as they must be", CASES.len() + 1))
}

/// A data-parallel program by its launcher: both ranks are seen, each on its own GPU.
fn launched(bench: &Bench) -> Result<()> {
    let python = environment("torch")?.join("bin/python");
    let script = root().join("tests/scenarios/fit/ddp.py");
    let output = Command::new(bench.binaries.join("whyoom"))
        .args(["fit", "--json", "--gpu", "l4,a100", "--gpus", "2", "--"])
        .arg(python)
        .args(["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"])
        .arg(script)
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .stdin(Stdio::null())
        .output()?;
    println!("{:<14} {:<34} status {}", "ddp.py", "torchrun, 2 ranks", output.status);
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let answer: Value = serde_json::from_slice(&output.stdout)?;
    for gpu in answer["gpus"].as_array().map(Vec::as_slice).unwrap_or_default() {
        let processes = gpu["processes"].as_array().map(Vec::as_slice).unwrap_or_default();
        let places: Vec<_> = processes.iter().map(|one| (&one["rank"], &one["device"])).collect();
        let ranks = places == [(&Value::from("0"), &Value::from(0)), (&"1".into(), &1.into())];
        ensure!(ranks, "{}: rank and device are {places:?}", gpu["name"]);
        let same = processes[0]["peak_allocated_bytes"] == processes[1]["peak_allocated_bytes"];
        ensure!(same, "the ranks differ: {processes:?}");
    }
    Ok(())
}

impl Case {
    fn run(&self, bench: &Bench) -> Result<Output> {
        let output = Command::new("timeout")
            .args(["--kill-after=10", "120"])
            .arg(bench.binaries.join("whyoom"))
            .args(["fit", "--json", "--gpu", "l4"])
            .args(self.flags)
            .arg("--")
            .arg(environment("torch")?.join("bin/python"))
            .arg(root().join("tests/scenarios/fit/behaviour.py"))
            .arg(self.name)
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .stdin(Stdio::null())
            .output()?;
        Ok(output)
    }
}

fn has_note(answer: &Value, text: &str) -> bool {
    let notes = answer["notes"].as_array().map(Vec::as_slice).unwrap_or_default();
    notes.iter().any(|note| note["text"].as_str().is_some_and(|note| note.contains(text)))
}
