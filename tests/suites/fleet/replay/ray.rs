//! A Ray cluster of nodes on this machine, none of which outlives the check.

use std::{
    env,
    fs::{self, File},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::Duration,
};

use anyhow::{Context, Result};
use harness::{environment, text};

use super::super::{
    place::{Running, wait_for},
    processes::{kill, name, tree},
    servers::free_ports,
};

/// The head and one node, with a CPU each.
pub(super) struct Ray {
    environment: PathBuf,
    /// The sockets are in it, whose paths have to be short.
    folder: PathBuf,
    /// Where the nodes find commands.
    path: String,
    port: u16,
    /// Ray listens beyond the loopback, and runs what it is asked to.
    token: String,
    head: Option<RayNode>,
    node: Option<RayNode>,
}

/// `ray start`, with all that it has started.
struct RayNode(Running);

impl Drop for RayNode {
    fn drop(&mut self) {
        // Whoever has lost the parent ends by itself, but not at once.
        let all = tree(self.0.0.id());
        all.into_iter().for_each(kill);
    }
}

impl Ray {
    /// Starts it, with a folder of commands for its nodes.
    pub(super) fn start(bin: &Path) -> Result<Self> {
        let folder = env::temp_dir().join(format!("whyoom-ray-{}", std::process::id()));
        fs::create_dir(&folder)?;
        let path = format!("{}:{}", text(bin), env::var("PATH").unwrap_or_default());
        let (environment, port) = (environment("ray")?, free_ports(1)?[0]);
        let token = fs::read_to_string("/proc/sys/kernel/random/uuid")?.trim().replace('-', "");
        let mut ray = Self { environment, folder, path, port, token, head: None, node: None };
        let words = [
            "--head".to_owned(),
            format!("--port={port}"),
            "--include-dashboard=false".to_owned(),
            format!("--temp-dir={}", text(&ray.folder)),
        ];
        ray.head = Some(ray.run("head", &words)?);
        ray.add_node()?;
        Ok(ray)
    }

    /// The second node, also again after [`Ray::kill_node`].
    pub(super) fn add_node(&mut self) -> Result<()> {
        self.node = Some(self.run("node", &[format!("--address=127.0.0.1:{}", self.port)])?);
        Ok(())
    }

    /// As if the machine lost its power.
    pub(super) fn kill_node(&mut self) {
        self.node = None;
    }

    fn run(&self, name: &str, words: &[String]) -> Result<RayNode> {
        let log = self.folder.join(format!("{name}.log"));
        let mut command = self.command("ray");
        command.args(["start", "--block", "--disable-usage-stats", "--num-cpus=1"]).args(words);
        // Two nodes on one machine share its ports.
        command.args(["--min-worker-port=0", "--max-worker-port=0"]);
        command.arg("--object-store-memory=100000000");
        let output = File::create(&log)?;
        command.stdin(Stdio::null()).stdout(output.try_clone()?).stderr(output);
        let node = RayNode(Running(command.spawn()?));
        wait_for("the Ray node runs", 60, || {
            Ok(fs::read_to_string(&log)?.contains("Ray runtime started"))
        })
        .with_context(|| fs::read_to_string(&log).unwrap_or_default())?;
        Ok(node)
    }

    /// A command of Ray's environment, for this cluster.
    pub(super) fn command(&self, name: &str) -> Command {
        let mut command = Command::new(self.environment.join("bin").join(name));
        command.env("PATH", &self.path);
        command.env("RAY_AUTH_MODE", "token").env("RAY_AUTH_TOKEN", &self.token);
        command.env("RAY_ADDRESS", format!("127.0.0.1:{}", self.port));
        command
    }

    /// Kills a worker that is at work; false where none is.
    pub(super) fn kill_worker(&self, which: usize) -> bool {
        let nodes = [&self.head, &self.node].into_iter().flatten();
        let all: Vec<u32> = nodes.flat_map(|node| tree(node.0.0.id())).collect();
        let workers: Vec<u32> =
            all.into_iter().filter(|pid| name(*pid).starts_with("ray::replay")).collect();
        let Some(worker) = workers.get(which % workers.len().max(1)) else { return false };
        kill(*worker);
        true
    }
}

impl Drop for Ray {
    fn drop(&mut self) {
        (self.node, self.head) = (None, None);
        // What has lost its parent notices, and writes no more.
        std::thread::sleep(Duration::from_secs(1));
        let _ = fs::remove_dir_all(&self.folder);
    }
}
