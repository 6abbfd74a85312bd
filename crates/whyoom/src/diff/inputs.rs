//! A run, whatever it was kept as.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, ensure};
use whyoom_diff::{LaunchNames, Profile, profile_of};
use whyoom_memory::Model;
use whyoom_report::{RunTimeline, run_timelines};
use whyoom_sources::recording::is_recording;
use whyoom_trace::Tables;

use super::saved::SavedProfile;
use crate::{
    beside::process_in,
    report::is_simulated,
    source::{Frames, read as read_source},
};

/// Files of a folder beyond these are not read.
const MOST_FILES: usize = 4096;

/// A run as it was read.
pub(crate) struct Run {
    pub(crate) profile: Profile,
    /// What is worth saying of what was read.
    pub(crate) notes: Vec<String>,
    /// Memory over time, where the source tells it.
    pub(crate) timelines: Vec<RunTimeline>,
    /// Whether any of it is of a simulated GPU.
    pub(crate) simulated: bool,
}

/// Reads a run.
pub(crate) fn read(path: &Path, frames: Frames) -> Result<Run> {
    let profile = Profile { name: path.display().to_string(), ranks: Vec::new() };
    let mut run = Run { profile, notes: Vec::new(), timelines: Vec::new(), simulated: false };
    for file in files(path)? {
        let mut ranks = if file.extension().is_some_and(|kind| kind == "json") {
            // Only fit saves profiles, and it runs on simulated GPUs.
            run.simulated = true;
            SavedProfile::read(&file)?.ranks
        } else {
            run.read_events(&file, frames)?.ranks
        };
        // Of several files, each is one rank's, and its name may tell which.
        let told = file.file_name().and_then(|name| rank_in(&name.to_string_lossy()));
        if let [only] = ranks.as_mut_slice() {
            only.rank = only.rank.or(told);
        }
        run.profile.ranks.extend(ranks);
    }
    Ok(run)
}

impl Run {
    /// One file or recording. Each has a model of its own: processes of two machines may have one name.
    fn read_events(&mut self, file: &Path, frames: Frames) -> Result<Profile> {
        let (mut model, mut tables) = (Model::default().and_steady_state(), Tables::default());
        let contents = read_source(file, frames, &mut tables, &mut model)?;
        self.notes.extend(contents.input.notes);
        self.simulated |= is_simulated(file);
        self.timelines.extend(run_timelines(&model, &tables));
        let names = LaunchNames { name: &contents.input.name, rank: rank_in };
        Ok(profile_of(&model, &tables, names))
    }
}

/// The input itself, or what a folder of several holds.
fn files(path: &Path) -> Result<Vec<PathBuf>> {
    if is_recording(path) || process_in(path).is_some() || !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let context = || format!("cannot read {}", path.display());
    let entries = fs::read_dir(path).with_context(context)?.take(MOST_FILES);
    let mut inputs = Vec::new();
    for entry in entries {
        let entry = entry.with_context(context)?.path();
        let is_hidden =
            entry.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
        if !is_hidden && (is_recording(&entry) || is_input(&entry)) {
            inputs.push(entry);
        }
    }
    inputs.sort();
    ensure!(
        !inputs.is_empty(),
        "{} contains neither recordings nor snapshots (.pickle) nor files of fit --save (.json): name the files",
        path.display()
    );
    Ok(inputs)
}

fn is_input(path: &Path) -> bool {
    path.extension()
        .is_some_and(|kind| ["pickle", "pkl", "json"].iter().any(|known| kind == *known))
}

/// The rank that a name tells: `rank3.pickle`, `snapshot_rank_3`, `job, rank 3`.
fn rank_in(name: &str) -> Option<u32> {
    let lower = name.to_lowercase();
    let after = &lower[lower.rfind("rank")? + 4..];
    let digits = after.trim_start_matches(['_', '-', ' ', '=', '.']);
    let end = digits.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(digits.len());
    digits[..end].parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_ranks() {
        for (name, rank) in [
            ("out/rank3.pickle", Some(3)),
            ("snapshot_rank_12.pickle", Some(12)),
            ("train.log, rank 0", Some(0)),
            ("frank.pickle", None),
            ("snapshot.pickle", None),
        ] {
            assert_eq!(rank_in(name), rank, "{name}");
        }
    }
}
