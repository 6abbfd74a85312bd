//! A node with its logs, and the agent that reads them.

use std::{
    fs::{self, File},
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, ensure};
use harness::{Build, empty_folder, text};
use whyoom_archive::Archive;
use whyoom_incident::{Incident, parquet};

/// A folder that stands for a node.
pub(super) struct Node {
    pub(super) folder: PathBuf,
    fleet: PathBuf,
}

impl Node {
    /// A node with settings: lines of TOML, after those that every node here has.
    pub(super) fn new(name: &str, settings: &str) -> Result<Self> {
        let folder = empty_folder(name)?;
        fs::create_dir(folder.join("logs"))?;
        let base = format!(
            "state = '{0}/state'\nlogs = ['{0}/logs/*.log', '{0}/logs/pods/*/*/*.log']\nfrom-start = true\n",
            text(&folder)
        );
        fs::write(folder.join("fleet.toml"), base + settings)?;
        Ok(Self { folder, fleet: Build::fleet()? })
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// The agent, not started.
    pub(super) fn agent(&self) -> Result<Command> {
        let mut agent = Command::new(&self.fleet);
        agent.args(["agent", "--settings"]).arg(self.path("fleet.toml"));
        agent.stdin(Stdio::null()).stdout(Stdio::null());
        agent.stderr(File::options().append(true).create(true).open(self.path("agent.err"))?);
        Ok(agent)
    }

    /// How `agent --check` ends.
    pub(super) fn check(&self) -> Result<Output> {
        let mut agent = Command::new(&self.fleet);
        agent.args(["agent", "--check", "--settings"]).arg(self.path("fleet.toml"));
        Ok(agent.output()?)
    }

    pub(super) fn start(&self) -> Result<Running> {
        Ok(Running(self.agent()?.spawn()?))
    }
}

/// A process that does not outlive the check.
pub(super) struct Running(pub(super) Child);

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// What the objects of a folder have, row by row: also what is there twice.
pub(super) fn rows(folder: &Path) -> Result<Vec<Incident>> {
    let archive = Archive::open(&text(folder))?;
    let mut all = Vec::new();
    for path in archive.objects(|_| true)? {
        let bytes = archive.bytes(&path)?;
        all.extend(parquet::read(bytes.into()).with_context(|| path.clone())?);
    }
    Ok(all)
}

/// Waits until something holds.
pub(super) fn wait_for(
    what: &str,
    limit: u64,
    mut holds: impl FnMut() -> Result<bool>,
) -> Result<()> {
    let until = Instant::now() + Duration::from_secs(limit);
    while !holds()? {
        ensure!(Instant::now() < until, "after {limit} s not yet: {what}");
        thread::sleep(Duration::from_millis(200));
    }
    Ok(())
}
