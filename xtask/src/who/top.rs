//! `whyoom top` beside nvitop: what a view costs that is redrawn every second.

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::{Scene, Stage};
use crate::tools::{environment, number, root};

/// It may take so much of one core, in per cent, and so much memory, in MiB.
const CORE_PERCENT: f64 = 1.0;
const RESIDENT: f64 = 40.0;
/// For so many seconds it is watched.
const WATCHED: &str = "10";

/// Each in a terminal of its own, on the same two devices with three processes.
pub(super) fn run(stage: &Stage) -> Result<String> {
    let mut scene = Scene::start(stage, &["--gpus", "2"])?;
    for wish in ["0=512", "0=64", "1=1024"] {
        scene.hold(&[wish])?;
    }
    let whyoom = scene.whyoom().display().to_string();
    let nvitop = environment("clients")?.join("bin/nvitop").display().to_string();
    let ours = usage(&scene, &[&whyoom, "top", "--interval", "1"])?;
    let theirs = usage(&scene, &[&nvitop, "--interval", "1"])?;
    for (name, figures) in [("whyoom top", &ours), ("nvitop", &theirs)] {
        let (percent, resident) = (number(&figures["percent"]), number(&figures["mebibytes"]));
        println!("{name:<12} {percent:>6.2} % of a core {resident:>7.1} MiB resident");
    }
    let (percent, resident) = (number(&ours["percent"]), number(&ours["mebibytes"]));
    let both_drew = [&ours, &theirs].iter().all(|one| number(&one["drawn"]) > 0.0);
    ensure!(both_drew, "one of them drew nothing");
    ensure!(percent < CORE_PERCENT, "whyoom top takes {percent:.2} % of a core");
    ensure!(resident < RESIDENT, "whyoom top takes {resident:.1} MiB");
    Ok(format!(
        "top at 1 Hz {percent:.2} % of a core and {resident:.0} MiB (nvitop {:.2} % and {:.0} MiB)",
        number(&theirs["percent"]),
        number(&theirs["mebibytes"])
    ))
}

fn usage(scene: &Scene, command: &[&str]) -> Result<Value> {
    let script = root().join("tests/scenarios/who/usage.py").display().to_string();
    let output = scene.output(&[&["python3", &script, WATCHED], command].concat())?;
    let complaint = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{command:?}: {complaint}");
    serde_json::from_slice(&output.stdout).with_context(|| format!("{command:?}"))
}
