//! A fleet's recordings, replayed in shards: by a plain loop, on Ray while workers and a node are killed, and as a Slurm
//! array.

mod made;
mod ray;
mod work;

use std::{
    fs,
    path::Path,
    process::{Child, Command},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, ensure};
use harness::{Held, must_succeed, root, text};

use self::{
    ray::Ray,
    work::{Done, Work, results, served},
};
use super::{place::wait_for, slurm::Cluster};

/// How much is replayed.
#[derive(Clone, Copy)]
pub(super) struct Size {
    recordings: usize,
    /// Of each recording.
    events: u64,
    shards: usize,
    /// The least throughput on Ray, as a part of the plain pool's. In a short run, Ray's start is much of it.
    throughput: Option<f64>,
}

pub(super) const GATE: Size = Size { recordings: 60, events: 60_000, shards: 12, throughput: None };
pub(super) const DEEP: Size =
    Size { recordings: 500, events: 100_000, shards: 50, throughput: Some(0.9) };

/// What happens to a cluster while it works.
#[derive(Default)]
struct Trouble {
    /// Workers that were killed.
    kills: usize,
    /// Results when the last one was.
    last: usize,
    is_node_dead: bool,
    was_node_dead: bool,
}

impl Trouble {
    /// A worker for each tenth of the work; the node after a third of it, which is back after a half.
    fn make(&mut self, ray: &mut Ray, done: usize, all: usize) -> Result<()> {
        if done >= self.last + all / 10 && done < all * 9 / 10 {
            self.kills += usize::from(ray.kill_worker(self.kills));
            self.last = done;
        }
        if done > all / 3 && !self.was_node_dead {
            ray.kill_node();
            (self.is_node_dead, self.was_node_dead) = (true, true);
        }
        if done > all / 2 && self.is_node_dead {
            ray.add_node()?;
            self.is_node_dead = false;
        }
        Ok(())
    }
}

pub(super) fn ray(size: Size) -> Result<Held> {
    let work = Work::new("fleet-replay-ray", size)?;
    let mut ray = Ray::start(&work.bin())?;
    let mut trouble = Trouble::default();
    let disturbed =
        on_ray(&work, &mut ray, "disturbed", |ray, done| trouble.make(ray, done, size.recordings))?;
    let Trouble { kills, was_node_dead, .. } = trouble;
    ensure!(kills > 2 && was_node_dead, "{kills} workers were killed");
    let plain = work.plain()?;
    let calm = on_ray(&work, &mut ray, "calm", |_, _| Ok(()))?;
    for done in [&disturbed, &calm] {
        ensure!(done.sum == plain.sum, "{} on Ray, {} by a loop", done.sum, plain.sum);
    }
    let throughput = plain.seconds / calm.seconds;
    let is_enough = size.throughput.is_none_or(|least| throughput >= least);
    ensure!(is_enough, "{throughput:.2} of the loop's throughput");
    Ok(Held::new(format!(
        "{} recordings, {} % served by expandable segments, by a loop of 2 processes and on Ray with {kills} workers and \
         a node killed ({:.1} s); undisturbed {:.1} s, the loop {:.1} s: {throughput:.2} of its throughput",
        size.recordings,
        100 * served(&plain.sum, "expandable") / size.recordings as u64,
        disturbed.seconds,
        calm.seconds,
        plain.seconds
    )))
}

/// The launcher for Ray; what happens meanwhile is told when there are so many results.
fn on_ray(
    work: &Work,
    ray: &mut Ray,
    name: &str,
    mut meanwhile: impl FnMut(&mut Ray, usize) -> Result<()>,
) -> Result<Done> {
    let (archive, manifest) = work.plan(name)?;
    let started = Instant::now();
    let mut launcher = ray.command("python");
    launcher.arg(root().join("deploy/replay/replay_on_ray.py")).arg(&archive).arg(&manifest);
    launcher.arg(work.size.shards.to_string());
    let log = work.folder.join(format!("{name}.log"));
    let output = fs::File::create(&log)?;
    let mut launcher = launcher.stdout(output.try_clone()?).stderr(output).spawn()?;
    let ended = watch(&mut launcher, &archive, |done| meanwhile(ray, done));
    let _ = launcher.kill();
    let status = launcher.wait()?;
    ended?;
    let said = fs::read_to_string(&log)?;
    ensure!(status.success(), "{status}: {said}");
    let seconds = started.elapsed().as_secs_f64();
    Ok(Done { sum: work.sum(&archive, &manifest)?, seconds })
}

/// Until it has ended.
fn watch(
    launcher: &mut Child,
    archive: &Path,
    mut meanwhile: impl FnMut(usize) -> Result<()>,
) -> Result<()> {
    let until = Instant::now() + Duration::from_secs(900);
    while launcher.try_wait()?.is_none() {
        ensure!(Instant::now() < until, "the launcher does not end: {} results", results(archive));
        meanwhile(results(archive))?;
        thread::sleep(Duration::from_millis(50));
    }
    Ok(())
}

pub(super) fn slurm() -> Result<Held> {
    let size = GATE;
    let work = Work::new("fleet-replay-slurm", size)?;
    let plain = work.plain()?;
    let (archive, manifest) = work.plan("slurm")?;
    let bin = text(&work.bin());
    let command = |name: &str| format!("#!/bin/sh\nexec '{bin}/{name}' \"$@\"\n");
    let commands = ["whyoom-fleet", "whyoom"].map(|name| (name, command(name)));
    let cluster = Cluster::start(|_| String::new(), &commands)?;
    let started = Instant::now();
    let mut launcher = Command::new("sh");
    launcher.arg(root().join("deploy/replay/slurm.sh")).arg(&archive).arg(&manifest);
    let sum = cluster.submit(launcher.arg(size.shards.to_string()))?;
    // A task is taken from its node and queued again, as when the node dies.
    wait_for("the first results", 60, || Ok(results(&archive) > 2))?;
    let running = cluster.told(Command::new("squeue").args(["-h", "-t", "R", "-o", "%A"]))?;
    let task = running.lines().next().context("no task runs")?.to_owned();
    must_succeed(cluster.set(Command::new("scontrol").args(["requeue", &task])))?;
    cluster.finished(&sum, 300)?;
    let seconds = started.elapsed().as_secs_f64();
    let printed = fs::read_to_string(cluster.path(&format!("jobs/slurm-{sum}.out")))?;
    ensure!(!printed.contains("missing") && printed.contains('%'), "the sum: {printed}");
    let found = work.sum(&archive, &manifest)?;
    ensure!(found == plain.sum, "{found} by Slurm, {} by a loop", plain.sum);
    Ok(Held::new(format!(
        "{} recordings as a Slurm array with a task queued again, in {seconds:.1} s; a loop of 2 processes takes \
         {:.1} s, with the same result",
        size.recordings, plain.seconds
    )))
}
