//! A run, whatever it was kept as.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, ensure};
use whyoom_reading::RunProfile;
use whyoom_sources::recording::is_recording;

use super::saved::SavedProfile;
use crate::{
    beside::process_in,
    source::{Frames, read as read_source},
};

/// Files of a folder beyond these are not read.
const MOST_FILES: usize = 4096;

/// Reads a run.
pub(crate) fn read(path: &Path, frames: Frames) -> Result<RunProfile> {
    let mut run = RunProfile::named(path.display().to_string());
    for file in files(path)? {
        let name = file.file_name().map(|name| name.to_string_lossy().into_owned());
        if file.extension().is_some_and(|kind| kind == "json") {
            // Only fit saves profiles, and it runs on simulated GPUs.
            run.simulated = true;
            run.add(name.as_deref(), SavedProfile::read(&file)?.ranks);
        } else {
            let mut simulated = false;
            run.take(name.as_deref(), |tables, sink| {
                let contents = read_source(&file, frames, tables, sink)?;
                simulated = contents.simulated;
                anyhow::Ok(contents.input)
            })?;
            run.simulated |= simulated;
        }
    }
    Ok(run)
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
