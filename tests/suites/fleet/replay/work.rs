//! Recordings, and what replays them.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::Instant,
};

use anyhow::{Context, Result, ensure};
use harness::{Build, empty_folder, must_succeed, two_at_a_time};
use serde_json::Value;

use super::{Size, made};

/// Recordings, and the commands that replay them.
pub(super) struct Work {
    pub(super) folder: PathBuf,
    pub(super) size: Size,
}

/// What came of it.
pub(super) struct Done {
    /// The document of the sum.
    pub(super) sum: Value,
    pub(super) seconds: f64,
}

impl Work {
    pub(super) fn new(name: &str, size: Size) -> Result<Self> {
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

    pub(super) fn bin(&self) -> PathBuf {
        self.folder.join("bin")
    }

    /// `whyoom-fleet replay ARCHIVE`.
    fn replay(&self, archive: &Path) -> Command {
        let mut command = Command::new(self.bin().join("whyoom-fleet"));
        command.arg("replay").arg(archive).arg("--whyoom").arg(self.bin().join("whyoom"));
        command
    }

    /// A new archive with a manifest of all recordings: both by name.
    pub(super) fn plan(&self, name: &str) -> Result<(PathBuf, String)> {
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
    pub(super) fn sum(&self, archive: &Path, manifest: &str) -> Result<Value> {
        let mut sum = self.replay(archive);
        let output = sum.args(["--manifest", manifest, "--sum", "--json"]).output()?;
        ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let sum: Value = serde_json::from_slice(&output.stdout)?;
        let (wanted, found) = (self.size.recordings, results(archive));
        ensure!(found == wanted && sum["recordings"] == wanted, "{found} of {wanted}: {sum}");
        Ok(sum)
    }

    /// One process a core, and nothing between: what the others are compared with.
    pub(super) fn plain(&self) -> Result<Done> {
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
}

/// Results in an archive; what was being written when its process was killed is none.
pub(super) fn results(archive: &Path) -> usize {
    let entries = fs::read_dir(archive.join("replays/results")).into_iter().flatten().flatten();
    entries.filter(|entry| entry.path().extension().is_some_and(|ext| ext == "json")).count()
}

pub(super) fn served(sum: &Value, name: &str) -> u64 {
    let rows = sum["served_by"].as_array().into_iter().flatten();
    rows.filter(|row| row["name"] == name).filter_map(|row| row["incidents"].as_u64()).sum()
}
