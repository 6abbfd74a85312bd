//! A fleet's recordings, replayed in shards: by a plain pool of processes, on Ray while workers and a node are killed,
//! and as a Slurm array.

mod device;
mod made;
mod ray;

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, ensure};
use harness::{Build, Held, empty_folder, must_succeed, root, text, two_at_a_time};
use serde_json::Value;

use self::ray::Ray;
use super::slurm::Cluster;

/// How much is replayed.
#[derive(Clone, Copy)]
pub(super) struct Size {
    recordings: usize,
    /// Of each recording.
    events: u64,
    shards: usize,
    /// The least throughput on Ray, as a part of the plain pool's. A short run says little of it.
    throughput: f64,
}

pub(super) const GATE: Size = Size { recordings: 60, events: 60_000, shards: 12, throughput: 0.0 };
pub(super) const DEEP: Size = Size { recordings: 500, events: 60_000, shards: 50, throughput: 0.9 };

/// Recordings, and the commands that replay them.
struct Work {
    folder: PathBuf,
    size: Size,
}

/// What came of it.
struct Done {
    /// The document of the sum.
    sum: Value,
    seconds: f64,
}

impl Work {
    fn new(name: &str, size: Size) -> Result<Self> {
        let folder = empty_folder(name)?;
        fs::create_dir(folder.join("bin"))?;
        for (name, command) in
            [("whyoom-fleet", Build::fleet()?), ("whyoom", Build::ready()?.whyoom())]
        {
            std::os::unix::fs::symlink(command, folder.join("bin").join(name))?;
        }
        let numbers: Vec<usize> = (0..size.recordings).collect();
        let made = two_at_a_time(&numbers, |number| {
            let recording = folder.join(format!("recordings/{number:04}"));
            fs::create_dir_all(&recording)?;
            made::write(&recording, *number, size.events)
        });
        made.into_iter().collect::<Result<()>>()?;
        Ok(Self { folder, size })
    }

    fn bin(&self) -> PathBuf {
        self.folder.join("bin")
    }

    /// `whyoom-fleet replay ARCHIVE`.
    fn replay(&self, archive: &Path) -> Command {
        let mut command = Command::new(self.bin().join("whyoom-fleet"));
        command.arg("replay").arg(archive).arg("--whyoom").arg(self.bin().join("whyoom"));
        command
    }

    /// A new archive with a manifest of all recordings: both by name.
    fn plan(&self, name: &str) -> Result<(PathBuf, String)> {
        let archive = self.folder.join(name);
        let mut plan = self.replay(&archive);
        let output = plan.arg("--plan").arg(self.folder.join("recordings/*")).output()?;
        let (said, printed) =
            (String::from_utf8_lossy(&output.stderr), String::from_utf8_lossy(&output.stdout));
        let manifest = printed.lines().last().and_then(|line| line.strip_prefix("manifest "));
        let manifest = manifest.with_context(|| format!("no manifest: {printed}{said}"))?;
        Ok((archive, manifest.to_owned()))
    }

    /// Each recording has one result, and what they come to.
    fn sum(&self, archive: &Path, manifest: &str) -> Result<Value> {
        let mut sum = self.replay(archive);
        let output = sum.args(["--manifest", manifest, "--sum", "--json"]).output()?;
        ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let sum: Value = serde_json::from_slice(&output.stdout)?;
        let (wanted, found) = (self.size.recordings, results(archive));
        ensure!(found == wanted && sum["recordings"] == wanted, "{found} of {wanted}: {sum}");
        Ok(sum)
    }

    /// One process a core, and nothing between: what the others are compared with.
    fn plain(&self) -> Result<Done> {
        let (archive, manifest) = self.plan("plain")?;
        let shards: Vec<usize> = (0..self.size.shards).collect();
        let started = Instant::now();
        let ended = two_at_a_time(&shards, |shard| {
            let mut command = self.replay(&archive);
            command.args(["--manifest", &manifest, "--shard"]);
            command.arg(format!("{shard}/{}", shards.len())).stdout(Stdio::null());
            must_succeed(&mut command)
        });
        ended.into_iter().collect::<Result<()>>()?;
        let seconds = started.elapsed().as_secs_f64();
        let sum = self.sum(&archive, &manifest)?;
        // What was planted is what is found.
        let planted = (0..self.size.recordings).filter(|number| number % 10 < made::FRAGMENTED);
        let served = served(&sum, "expandable");
        ensure!(served == planted.count() as u64, "{served} by expandable segments: {sum}");
        Ok(Done { sum, seconds })
    }

    /// The launcher for Ray; what happens meanwhile is told when there are so many results.
    fn on_ray(
        &self,
        ray: &mut Ray,
        name: &str,
        mut meanwhile: impl FnMut(&mut Ray, usize) -> Result<()>,
    ) -> Result<Done> {
        let (archive, manifest) = self.plan(name)?;
        let started = Instant::now();
        let mut launcher = ray.command("python");
        launcher.arg(root().join("deploy/replay/replay_on_ray.py")).arg(&archive).arg(&manifest);
        launcher.arg(self.size.shards.to_string());
        let log = self.folder.join(format!("{name}.log"));
        let output = fs::File::create(&log)?;
        let mut launcher = launcher.stdout(output.try_clone()?).stderr(output).spawn()?;
        let ended = watch(&mut launcher, &archive, |done| meanwhile(ray, done));
        let _ = launcher.kill();
        let status = launcher.wait()?;
        ended?;
        let said = fs::read_to_string(&log)?;
        ensure!(status.success(), "{status}: {said}");
        let seconds = started.elapsed().as_secs_f64();
        Ok(Done { sum: self.sum(&archive, &manifest)?, seconds })
    }
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

/// Results in an archive; what was being written when its process was killed is none.
fn results(archive: &Path) -> usize {
    let entries = fs::read_dir(archive.join("replays/results")).into_iter().flatten().flatten();
    entries.filter(|entry| entry.path().extension().is_some_and(|ext| ext == "json")).count()
}

fn served(sum: &Value, name: &str) -> u64 {
    let rows = sum["served_by"].as_array().into_iter().flatten();
    rows.filter(|row| row["name"] == name).filter_map(|row| row["incidents"].as_u64()).sum()
}

pub(super) fn ray(size: Size) -> Result<Held> {
    let work = Work::new("fleet-replay-ray", size)?;
    let plain = work.plain()?;
    let mut ray = Ray::start(&work.bin())?;
    let (mut kills, mut is_node_dead, mut was_node_dead) = (0, false, false);
    let mut next = size.recordings / 10;
    let disturbed = work.on_ray(&mut ray, "disturbed", |ray, done| {
        if done >= next && done < size.recordings * 9 / 10 {
            kills += usize::from(ray.kill_worker(kills));
            next = done + size.recordings / 10;
        }
        if done > size.recordings / 3 && !was_node_dead {
            ray.kill_node();
            (is_node_dead, was_node_dead) = (true, true);
        }
        if done > size.recordings / 2 && is_node_dead {
            ray.add_node()?;
            is_node_dead = false;
        }
        Ok(())
    })?;
    ensure!(kills > 2 && was_node_dead, "{kills} workers were killed");
    ensure!(disturbed.sum == plain.sum, "{} on Ray, {} by a loop", disturbed.sum, plain.sum);
    let calm = work.on_ray(&mut ray, "calm", |_, _| Ok(()))?;
    ensure!(calm.sum == plain.sum, "{} on Ray, {} by a loop", calm.sum, plain.sum);
    let throughput = plain.seconds / calm.seconds;
    ensure!(throughput >= size.throughput, "{throughput:.2} of the plain pool's throughput");
    Ok(Held::new(format!(
        "{} recordings, {} % served by expandable segments by a loop of 2 processes in {:.1} s and on Ray with \
         {kills} workers and a node killed ({:.1} s); undisturbed {:.1} s: {throughput:.2} of the loop's throughput",
        size.recordings,
        100 * served(&plain.sum, "expandable") / size.recordings as u64,
        plain.seconds,
        disturbed.seconds,
        calm.seconds
    )))
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
    let array: u32 = sum.parse::<u32>()? - 1;
    super::place::wait_for("the first results", 60, || Ok(results(&archive) > 2))?;
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
        "{} recordings: array {array} with a task queued again and its sum, in {seconds:.1} s; a loop of 2 processes \
         takes {:.1} s, with the same result",
        size.recordings, plain.seconds
    )))
}
