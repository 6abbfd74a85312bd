//! `whyoom top` beside nvitop: what a view costs that is redrawn every second.

use anyhow::{Context, Result, ensure};
use harness::{Held, Scene, SceneStage, environment, from_slice, root, text};
use serde::Deserialize;

/// It may take so much of one core, in per cent, and so much memory, in MiB.
const CORE_PERCENT: f64 = 1.0;
const RESIDENT: f64 = 40.0;
/// For so many seconds it is watched.
const WATCHED: &str = "10";

/// The line of `usage.py`.
#[derive(Debug, Deserialize)]
struct Usage {
    percent: f64,
    mebibytes: f64,
    drawn: u64,
}

/// Each in a terminal of its own, on the same two devices with three processes.
pub(super) fn run() -> Result<Held> {
    let mut scene = Scene::start(&SceneStage::ready()?, &["--gpus", "2"])?;
    for wish in ["0=512", "0=64", "1=1024"] {
        scene.hold(&[wish])?;
    }
    let (whyoom, nvitop) =
        (text(scene.whyoom()), text(&environment("clients")?.join("bin/nvitop")));
    let ours = usage(&scene, &[&whyoom, "top", "--interval", "1"])?;
    let theirs = usage(&scene, &[&nvitop, "--interval", "1"])?;
    let Usage { percent, mebibytes, .. } = ours;
    ensure!(percent < CORE_PERCENT, "whyoom top takes {percent:.2} % of a core");
    ensure!(mebibytes < RESIDENT, "whyoom top takes {mebibytes:.1} MiB");
    Ok(Held::new(format!(
        "top at 1 Hz {percent:.2} % of a core and {mebibytes:.0} MiB (nvitop {:.2} % and {:.0} MiB)",
        theirs.percent, theirs.mebibytes
    )))
}

fn usage(scene: &Scene, command: &[&str]) -> Result<Usage> {
    let script = text(&root().join("tests/scenarios/who/usage.py"));
    let output = scene.output(&[&["python3", &script, WATCHED], command].concat())?;
    let complaint = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{command:?}: {complaint}");
    let usage: Usage = from_slice(&output.stdout).with_context(|| format!("{command:?}"))?;
    let measured = usage.percent > 0.0 && usage.mebibytes > 0.0 && usage.drawn > 0;
    ensure!(measured, "{command:?} drew nothing, or was not measured: {usage:?}");
    Ok(usage)
}
