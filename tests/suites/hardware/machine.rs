//! `--machine FILE`: what `whyoom doctor` measured takes the place of what the table assumes, and is named.

use std::{fs, path::PathBuf, process::Command};

use anyhow::{Context, Result, ensure};
use harness::{Build, Held, Trial, fresh, python, root, text};
use serde_json::{Value, json};
use whyoom_lab_core::models;

use super::{Row, script};

pub(super) const ROWS: &[Row] = &[
    ("machine::lab", lab),
    ("machine::fit", fit),
    ("machine::why", why),
    ("machine::refused", refused),
];

/// What a context takes on the machine of the file; the table has another figure.
const CONTEXT: u64 = 777 << 20;

/// A file as `whyoom doctor --json` makes it on a simulated L4, but with another context.
fn machine(name: &str) -> Result<PathBuf> {
    let whyoom = text(&Build::ready()?.whyoom());
    let ran = Trial::on(&["--gpu", "l4"], &[whyoom.as_str(), "doctor", "--json"]).plain()?;
    let mut report: Value = serde_json::from_str(&ran.succeeded()?.stdout)?;
    let checks = report["checks"].as_array_mut().context("no checks")?;
    let figures =
        checks.iter_mut().find(|check| check["name"] == "figures").context("no figures")?;
    let context = &mut figures["gpus"][0]["figures"]["context"];
    ensure!(
        context.as_u64().is_some_and(|bytes| bytes != CONTEXT),
        "it was not measured: {context}"
    );
    *context = json!(CONTEXT);
    let file = fresh(&format!("hardware/{name}"))?.with_extension("json");
    fs::write(&file, report.to_string())?;
    Ok(file)
}

/// The command with these words: how it ended, and what it printed to both.
fn whyoom(words: &[&str]) -> Result<(Option<i32>, String, String)> {
    let output = Command::new(Build::ready()?.whyoom()).args(words).output()?;
    let text = |bytes| String::from_utf8(bytes);
    Ok((output.status.code(), text(output.stdout)?, text(output.stderr)?))
}

/// The simulated GPU takes what was measured, and says so.
fn lab() -> Result<Held> {
    let (file, own) = (text(&machine("machine-lab")?), text(&Build::ready()?.whyoom()));
    let words = ["lab", "run", "--machine", &file, "--", &own, "lab", "calibrate", "--json"];
    let (_, told, said) = whyoom(&words)?;
    let calibrated: Value = serde_json::from_str(&told).with_context(|| said.clone())?;
    ensure!(calibrated["device"]["model"] == "NVIDIA L4", "{calibrated:#}");
    ensure!(calibrated["figures"]["context"]["value"] == CONTEXT, "{calibrated:#}");
    ensure!(said.contains("measured by whyoom doctor"), "{said}");
    Ok(Held::new("the GPU of the file, with its context"))
}

/// `fit` adds the measured context, and says which figures are measured.
fn fit() -> Result<Held> {
    let (file, python) = (text(&machine("machine-fit")?), python()?);
    let script = text(&root().join("tests/scenarios/hardware/allocates.py"));
    let outside = |flags: [&str; 2]| -> Result<(u64, String)> {
        let words = [&["fit", "--json"], &flags[..], &["--", &python, &script]].concat();
        let (_, told, said) = whyoom(&words)?;
        let answer: Value = serde_json::from_str(&told).context(said)?;
        let process = &answer["gpus"][0]["processes"][0];
        let outside = process["outside_bytes"].as_u64().context("no figure")?;
        Ok((outside, answer["notes"].to_string()))
    };
    let (table, _) = outside(["--gpu", "l4"])?;
    let (measured, notes) = outside(["--machine", &file])?;
    let assumed = models::find("l4").context("no L4")?.context.value;
    ensure!(measured - CONTEXT == table - assumed, "{measured} against {table}");
    ensure!(notes.contains("context 777.00 MiB"), "{notes}");
    Ok(Held::new("the context of the file, named as measured"))
}

/// A verdict says which figures are measured, and takes the context where the run does not tell it.
fn why() -> Result<Held> {
    let file = text(&machine("machine-why")?);
    let recorded = script("fills.py", &["--gpu", "l4"])?.recorded("hardware/machine-why-run")?;
    let (code, told, said) = whyoom(&["why", &text(&recorded.folder), "--machine", &file])?;
    ensure!(code == Some(0) && told.contains("measured by whyoom doctor"), "{told}{said}");
    Ok(Held::new("the verdict names the measured figures"))
}

/// What is no such file, or is of another GPU, is refused in one line.
fn refused() -> Result<Held> {
    let file = machine("machine-refused")?;
    let other = file.with_extension("txt");
    fs::write(&other, "CUDA out of memory")?;
    let run = |words: &[&str]| whyoom(&[&["lab", "run"], words, &["--", "true"]].concat());
    let (code, _, said) = run(&["--machine", &text(&other)])?;
    ensure!(code == Some(2) && said.contains("whyoom doctor --json"), "{code:?} {said}");
    let (code, _, said) = run(&["--gpu", "t4", "--machine", &text(&file)])?;
    ensure!(code == Some(2) && said.contains("measured on NVIDIA L4"), "{code:?} {said}");
    Ok(Held::new("another text, and another GPU"))
}
