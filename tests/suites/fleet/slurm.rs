//! The scripts of `deploy/slurm` in a real Slurm, whose node has simulated GPUs.

mod cluster;

use std::{
    ffi::OsStr,
    fmt::Write as _,
    fs::{self, File},
    process::Command,
};

use anyhow::{Context, Result, ensure};
use harness::{Held, Scene, SceneStage, must_succeed, root, text};

pub(super) use self::cluster::Cluster;
use super::place::wait_for;

/// The jobs' user, who is not the one that runs Slurm.
const USER: &str = "nobody";
const SCRIPTS: [(&str, &str); 4] = [
    ("Prolog", "prolog.sh"),
    ("Epilog", "epilog.sh"),
    ("TaskProlog", "task-prolog.sh"),
    ("TaskEpilog", "task-epilog.sh"),
];

/// Task 1 of an array leaves a process behind that holds memory.
const LEAVES: &str = "#!/bin/sh\n\
    echo \"$SLURM_ARRAY_TASK_ID $SLURM_JOB_ID $SLURM_JOB_GPUS\" >>tasks\n\
    [ \"$SLURM_ARRAY_TASK_ID\" = 1 ] || exit 0\n\
    ../holder 0=2048 --orphan <alive >orphan\n\
    until [ -s orphan ]; do sleep 0.1; done\n";
/// What comes next, on all GPUs.
const NEXT: &str = "#!/bin/sh\necho \"$SLURM_JOB_ID\" >>ran\n";
/// Asks for more than a GPU has.
const RUNS_OUT: &str = "#!/bin/sh\nsrun whyoom run -- ../holder 0=200000\n";

/// A Slurm on a scene's GPUs, with our scripts.
struct Site {
    cluster: Cluster,
    scene: Scene,
}

impl Site {
    fn start() -> Result<Self> {
        let stage = SceneStage::ready()?;
        let scene = Scene::start(&stage, &["--gpus", "2"])?;
        // Slurm gives its scripts no variable of the site's, and this machine may have no log of the system.
        let mut whyoom = String::from("#!/bin/sh\n");
        for (name, value) in scene.command("").get_envs() {
            let value = value.unwrap_or(OsStr::new("")).to_string_lossy();
            writeln!(whyoom, "export {}='{value}'", name.to_string_lossy())?;
        }
        writeln!(whyoom, "exec '{}' \"$@\"", text(scene.whyoom()))?;
        let logger = "#!/bin/sh\necho \"$@\" >>\"$(dirname \"$0\")/log\"\n".to_owned();
        let cluster = Cluster::start(
            |folder| {
                let lines = SCRIPTS.map(|(key, name)| format!("{key}={}/{name}\n", text(folder)));
                lines.concat()
            },
            &[("whyoom", whyoom), ("logger", logger)],
        )?;
        for (_, name) in SCRIPTS {
            let script = fs::read_to_string(root().join("deploy/slurm").join(name))?;
            cluster.script(name, &script)?;
        }
        fs::copy(&stage.holder, cluster.path("holder"))?;
        Ok(Self { cluster, scene })
    }

    /// Submits a job of the user's and tells its number.
    fn submit(&self, words: &[&str], script: &str) -> Result<String> {
        let script = self.cluster.script("job.sh", script)?;
        let mut sbatch = self.scene.command("sbatch");
        sbatch.arg("--parsable").arg(format!("--uid={USER}")).args(words).arg(script);
        self.cluster.submit(&mut sbatch)
    }

    /// The same, and waits for its end.
    fn run(&self, words: &[&str], script: &str) -> Result<String> {
        let job = self.submit(words, script)?;
        self.cluster.finished(&job, 60)?;
        Ok(job)
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.cluster.path(name)).unwrap_or_default()
    }

    fn scontrol(&self, words: &[&str]) -> Result<()> {
        must_succeed(self.cluster.set(Command::new("scontrol").args(words)))
    }
}

/// A task leaves an orphan: the epilog names it, and the next prolog reports it or refuses the job.
pub(super) fn orphan() -> Result<Held> {
    let site = Site::start()?;
    let alive = site.cluster.path("jobs/alive");
    must_succeed(Command::new("mkfifo").args(["--mode=666"]).arg(&alive))?;
    // The orphan ends with this.
    let keep = File::options().read(true).write(true).open(&alive)?;
    let array = site.run(&["--array=0-1", "--gres=gpu:1"], LEAVES)?;
    let (clean, left) = (task(&site, "0")?, task(&site, "1")?);
    let pid = site.read("jobs/orphan").trim().to_owned();
    let log = site.read("bin/log");
    let named = format!("after job {}: GPU {}: process {pid} (holder, {USER}", left.0, left.1);
    ensure!(!pid.is_empty() && log.contains(&named), "the epilog of {left:?}: {log}");
    ensure!(log.contains(&format!("Slurm job {}, orphan)", left.0)), "not whose: {log}");
    ensure!(!log.contains(&format!("job {}:", clean.0)), "the epilog of {clean:?}: {log}");

    let next = site.run(&["--gres=gpu:2"], NEXT)?;
    let log = site.read("bin/log");
    ensure!(log.contains(&format!("before job {next}: GPU {}", left.1)), "the prolog: {log}");
    ensure!(site.read("jobs/ran").contains(&next), "report refuses job {next}");

    fs::write(site.cluster.path("etc/gate.conf"), "WHYOOM_GATE=refuse\n")?;
    let refused = site.submit(&["--gres=gpu:2"], NEXT)?;
    wait_for("the node is drained", 60, || {
        Ok(site.cluster.show("node", "node")?.contains("DRAIN"))
    })?;
    let node = site.cluster.show("node", "node")?;
    ensure!(node.contains("Reason=Prolog error"), "{node}");
    ensure!(!site.read("jobs/ran").contains(&refused), "job {refused} ran");

    // The GPU is clean again, and the same job runs.
    drop(keep);
    wait_for("the job is held", 60, || {
        Ok(site.cluster.show("job", &refused)?.contains("JobState=PENDING"))
    })?;
    site.scontrol(&["update", "NodeName=node", "State=RESUME"])?;
    site.scontrol(&["release", &refused])?;
    site.cluster.finished(&refused, 60)?;
    ensure!(site.read("jobs/ran").contains(&refused), "job {refused} did not run");
    Ok(Held::new(format!(
        "array {array}: the epilog names the orphan of one task and nothing of the other; the next job is reported, \
         refused with its node drained, and runs once the GPU is clean"
    )))
}

/// The number of a task's job, and its GPU.
fn task(site: &Site, number: &str) -> Result<(String, String)> {
    let tasks = site.read("jobs/tasks");
    let words = tasks.lines().map(|line| line.split(' ').collect::<Vec<_>>());
    let found = words.into_iter().find(|words| words.len() == 3 && words[0] == number);
    let words = found.with_context(|| format!("task {number} in {tasks:?}"))?;
    Ok((words[1].to_owned(), words[2].to_owned()))
}

/// A job that runs out of memory has the cause in its comment.
pub(super) fn comment() -> Result<Held> {
    let site = Site::start()?;
    let job = site.run(&["--gres=gpu:1"], RUNS_OUT)?;
    let shown = site.cluster.show("job", &job)?;
    let comment = shown.lines().find_map(|line| line.trim().strip_prefix("Comment="));
    let printed = site.read(&format!("jobs/slurm-{job}.out"));
    let comment = comment.with_context(|| format!("no comment: {shown}\n{printed}"))?;
    ensure!(comment.starts_with("error["), "{comment}");
    ensure!(printed.contains(comment), "another verdict than the log's: {comment}: {printed}");
    let clean = site.run(&["--gres=gpu:1"], NEXT)?;
    ensure!(!site.cluster.show("job", &clean)?.contains("Comment="), "a job without a verdict");
    Ok(Held::new(format!("the comment of job {job}: {comment}")))
}
