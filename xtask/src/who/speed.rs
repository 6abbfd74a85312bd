//! `whyoom who` on 8 devices and 500 processes, against the clock.

use std::{
    process::Stdio,
    time::{Duration, Instant},
};

use anyhow::{Result, ensure};

use super::{Scene, Stage};

const PROCESSES: usize = 500;
const RUNS: usize = 5;
/// An answer must not take longer.
const ANSWER: Duration = Duration::from_millis(100);

pub(super) fn run(stage: &Stage) -> Result<String> {
    let mut scene = Scene::start(stage, &["--gpus", "8"])?;
    let holder = stage.holder.clone();
    scene.hold_as(&holder, &["7=0", "--crowd", &PROCESSES.to_string()], PROCESSES)?;
    let seen = scene.who(&[])?;
    let shown: usize = (0..seen.devices()).map(|device| seen.holders(device).len()).sum();
    ensure!(shown == PROCESSES, "it shows {shown} processes of {PROCESSES}");
    let answer = median(&scene, &["who"])?;
    let start = median(&scene, &["--version"])?;
    println!("whyoom who, 8 devices, {PROCESSES} processes: {answer:.1?}, median of {RUNS}");
    println!("  of which a process that only starts (whyoom --version): {start:.1?}");
    ensure!(answer < ANSWER, "whyoom who took {answer:.1?}, more than {ANSWER:?}");
    Ok(format!("{PROCESSES} processes on 8 devices in {answer:.0?}"))
}

fn median(scene: &Scene, arguments: &[&str]) -> Result<Duration> {
    let mut times = Vec::new();
    for _ in 0..RUNS {
        let mut command = scene.command(scene.whyoom());
        command.args(arguments).stdout(Stdio::null());
        let started = Instant::now();
        let status = command.status()?;
        times.push(started.elapsed());
        ensure!(status.success(), "whyoom {arguments:?}: {status}");
    }
    times.sort();
    Ok(times[RUNS / 2])
}
