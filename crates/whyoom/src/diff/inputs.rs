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
pub(crate) fn read(path: &Path) -> Result<Run> {
    let mut model = Model::default().and_steady_state();
    let mut tables = Tables::default();
    let mut notes = Vec::new();
    let mut profile = Profile { name: path.display().to_string(), ranks: Vec::new() };
    let mut simulated = false;
    for file in files(path)? {
        if file.extension().is_some_and(|kind| kind == "json") {
            profile.ranks.extend(SavedProfile::read(&file)?.ranks);
            // Only fit saves profiles, and it runs on simulated GPUs.
            simulated = true;
            continue;
        }
        model.begin_launch(tables.next_process());
        let contents = read_source(&file, Frames::Named, &mut tables, &mut model)?;
        notes.extend(contents.input.notes);
        simulated |= is_simulated(&file);
    }
    let names = LaunchNames { name: &profile.name, rank: rank_in };
    profile.ranks.extend(profile_of(&model, &tables, names).ranks);
    let timelines = run_timelines(&model, &tables);
    Ok(Run { profile, notes, timelines, simulated })
}

/// The input itself, or what a folder of several holds.
fn files(path: &Path) -> Result<Vec<PathBuf>> {
    if is_recording(path) || !path.is_dir() {
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
