//! An installed wheel, and every command of it that needs a library used.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result, ensure};
use harness::fresh;

use super::{output::output, system::System, verdict::verdict};

/// The command of an installed wheel, and where it runs.
pub(super) struct Installed {
    pub(super) system: System,
    pub(super) whyoom: PathBuf,
}

impl Installed {
    /// A verdict, a simulated GPU, a recording and the pool.
    pub(super) fn use_everything(&self) -> Result<()> {
        let snapshot = Path::new("tests/fixtures/snapshots/fragmented-oom.pickle");
        self.verdict(snapshot, "pytorch-snapshot")?.has_cause("fragmented-cache")?;
        self.check_lab()?;
        self.check_recorder()?;
        self.check_pool()
    }

    fn verdict(&self, file: &Path, kind: &str) -> Result<harness::documents::Why> {
        verdict(&mut self.command(), file, kind)
    }

    fn command(&self) -> Command {
        let mut command = self.system.command(&self.whyoom);
        // What enters a system is found by it.
        command
            .env_clear()
            .env("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin");
        command
    }

    /// The installed lab, as an installed client of it sees it.
    fn check_lab(&self) -> Result<()> {
        let mut command = self.command();
        command.args(["lab", "run", "--gpu", "t4", "--"]).arg(&self.whyoom);
        let answer = output(command.args(["lab", "calibrate"]))?;
        ensure!(answer.contains("Tesla T4 (simulated)"), "no simulated GPU: {answer}");
        Ok(())
    }

    /// The installed recorder, in a client of the installed lab.
    fn check_recorder(&self) -> Result<()> {
        let folder = fresh("wheel-recording")?;
        let mut command = self.command();
        command.args(["lab", "run", "--gpu", "t4", "--"]).arg(&self.whyoom);
        command.args(["run", "-o"]).arg(&folder).arg("--").arg(&self.whyoom);
        output(command.args(["lab", "calibrate"]))?;
        self.verdict(&folder, "recording").map(drop)
    }

    /// The installed pool, under a client of the installed lab: what it asks the driver for comes in pages.
    fn check_pool(&self) -> Result<()> {
        let recording = fresh("wheel-pooled")?;
        let log = recording.with_extension("jsonl");
        let mut command = self.command();
        command.args(["lab", "run", "--gpu", "t4", "--log"]).arg(&log).arg("--").arg(&self.whyoom);
        command.args(["run", "--pool", "-o"]).arg(&recording).arg("--").arg(&self.whyoom);
        output(command.args(["lab", "calibrate"]))?;
        let calls = std::fs::read_to_string(&log).context("no log of calls")?;
        ensure!(calls.contains(r#""create":"#), "the pool took no memory: {}", log.display());
        let passed = r#""alloc":{"kind":"device""#;
        ensure!(!calls.contains(passed), "not all was served by the pool: {}", log.display());
        Ok(())
    }
}
