//! `whyoom who` on 8 devices and 500 processes, against the clock.

use std::{
    process::Stdio,
    time::{Duration, Instant},
};

use anyhow::{Result, ensure};
use harness::{Held, Scene, SceneStage};

const PROCESSES: usize = 500;
/// Of each, in turns. The least counts: whatever else a machine does only adds.
const RUNS: usize = 15;
/// An answer must take no more than so many times what a process takes that only starts: 100 ms where that is
/// 3 ms. The machines that measure change their speed by half from minute to minute; this ratio does not.
const STARTS: f64 = 33.0;

pub(super) fn run() -> Result<Held> {
    let stage = SceneStage::ready()?;
    let mut scene = Scene::start(&stage, &["--gpus", "8"])?;
    scene.hold_as(&stage.holder, &["7=0", "--crowd", &PROCESSES.to_string()], PROCESSES)?;
    let seen = scene.who(&[])?;
    let shown: usize = seen.devices.iter().map(|device| device.holders.len()).sum();
    ensure!(seen.devices.len() == 8, "it shows {} devices", seen.devices.len());
    ensure!(shown == PROCESSES, "it shows {shown} processes of {PROCESSES}");
    let (mut answer, mut start) = (Duration::MAX, Duration::MAX);
    for _ in 0..RUNS {
        answer = answer.min(time(&scene, "who")?);
        start = start.min(time(&scene, "--version")?);
    }
    let starts = answer.as_secs_f64() / start.as_secs_f64();
    let said = format!(
        "{PROCESSES} processes on 8 devices in {answer:.1?}, {starts:.0} times the {start:.1?} that a process takes \
         to start (at most {STARTS}); the least of {RUNS} each"
    );
    ensure!(starts <= STARTS, "{said}");
    Ok(Held::new(said))
}

fn time(scene: &Scene, argument: &str) -> Result<Duration> {
    let mut command = scene.command(scene.whyoom());
    command.arg(argument).stdout(Stdio::null());
    let started = Instant::now();
    let status = command.status()?;
    let taken = started.elapsed();
    ensure!(status.success(), "whyoom {argument}: {status}");
    Ok(taken)
}
