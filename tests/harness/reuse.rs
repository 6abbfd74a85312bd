//! Results and recordings of earlier runs, which are used again while the fingerprint of their inputs is unchanged.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use crate::{
    checkout::cache,
    fingerprint::{Checkout, SuiteFingerprints, fingerprint_of_folder, fingerprint_of_text},
    outcome::Outcome,
    report::{Report, ReportFolder},
    strict::{from_slice, from_str},
    trial::Ran,
};

/// If set to `1`, nothing is reused.
const FRESH_VARIABLE: &str = "WHYOOM_FRESH";

/// File in the shared folder of a run that holds its [`Fingerprints`].
const FINGERPRINTS_FILE: &str = "fingerprints.json";

/// Exit statuses of timeout(1) for a program that it ended with SIGTERM, or with SIGKILL.
const TIMED_OUT_STATUSES: [i32; 2] = [124, 137];

/// Files next to a recording: how its program ended, and the hash of its inputs.
const RAN_FILE: &str = "ran.json";
const INPUTS_HASH_FILE: &str = "inputs-hash";

/// Fingerprints of the inputs of one run of the suites. They are computed once, before the first check.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fingerprints {
    /// Fingerprints by suite, for suites whose results may be reused.
    results: BTreeMap<String, SuiteFingerprints>,
    /// Fingerprint of what all recordings depend on.
    recordings: String,
}

impl Fingerprints {
    /// Computes the fingerprints of this checkout.
    pub fn compute() -> Result<Self> {
        let checkout = Checkout::read()?;
        let mut results = BTreeMap::new();
        for suite in checkout.suites() {
            results.insert(suite.to_owned(), checkout.of_suite(suite));
        }
        Ok(Self { results, recordings: checkout.of_recordings() })
    }

    /// Removes the fingerprints of results: all checks run, but recordings may still be reused.
    #[must_use]
    pub fn without_results(self) -> Self {
        Self { results: BTreeMap::new(), ..self }
    }

    /// Passes the fingerprints to the checks of a run.
    pub fn write(&self, folder: &ReportFolder) -> Result<()> {
        Ok(fs::write(folder.shared().join(FINGERPRINTS_FILE), serde_json::to_vec(self)?)?)
    }

    /// Returns the fingerprints of the run that this check belongs to. Returns `None` if it has none, or if nothing may
    /// be reused.
    fn of_this_run() -> Option<Self> {
        if std::env::var_os(FRESH_VARIABLE).is_some_and(|value| value == "1") {
            return None;
        }
        let file = ReportFolder::of_this_run()?.shared().join(FINGERPRINTS_FILE);
        from_slice(&fs::read(file).ok()?).ok()
    }
}

/// A report with the fingerprint of the inputs that led to it.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct KeptReport {
    inputs_hash: String,
    report: Report,
}

/// Returns the report of an earlier run of a check, marked as reused. Returns `None` if the check did not hold then, or
/// if one of its inputs has changed.
pub(crate) fn kept_report(suite: &str, name: &str) -> Option<Report> {
    let fingerprint = Fingerprints::of_this_run()?.results.remove(suite)?.of_check(name);
    let kept: KeptReport = from_slice(&fs::read(report_file(name)).ok()?).ok()?;
    let is_same = kept.inputs_hash == fingerprint && kept.report.name == name;
    is_same.then_some(Report { reused: true, ..kept.report })
}

/// Keeps the report of a check that held, for later runs.
pub(crate) fn keep_report(suite: &str, report: &Report) -> Result<()> {
    let file = report_file(&report.name);
    if !matches!(report.outcome, Outcome::Held(_)) {
        let _ = fs::remove_file(file);
        return Ok(());
    }
    let Some(mut fingerprints) = Fingerprints::of_this_run() else { return Ok(()) };
    let Some(of_suite) = fingerprints.results.remove(suite) else { return Ok(()) };
    let inputs_hash = of_suite.of_check(&report.name);
    fs::create_dir_all(results_folder())?;
    let kept = KeptReport { inputs_hash, report: report.clone() };
    // A result that was cut short must not be read.
    let unfinished = file.with_extension(format!("{}.part", std::process::id()));
    fs::write(&unfinished, serde_json::to_vec(&kept)?)?;
    Ok(fs::rename(unfinished, file)?)
}

fn results_folder() -> PathBuf {
    cache().join("results")
}

fn report_file(name: &str) -> PathBuf {
    results_folder().join(format!("{}.json", fingerprint_of_text(name)))
}

/// The recording of one program, which is reused while the hash of its inputs is unchanged.
#[derive(Debug)]
pub struct KeptRecording {
    /// Folder of the recording and of everything that belongs to it.
    folder: PathBuf,
    /// Hash of everything that the recording depends on. `None` if nothing may be reused.
    inputs_hash: Option<String>,
}

impl KeptRecording {
    /// Hashes the inputs of a recording: the folder with the program's sources, and the command, its environment and its
    /// options as text.
    pub fn new(folder: PathBuf, sources: &Path, description: &str) -> Result<Self> {
        let Some(fingerprints) = Fingerprints::of_this_run() else {
            return Ok(Self { folder, inputs_hash: None });
        };
        let sources = fingerprint_of_folder(sources)?;
        let all = format!("{}\n{sources}\n{description}", fingerprints.recordings);
        Ok(Self { folder, inputs_hash: Some(fingerprint_of_text(&all)) })
    }

    /// Returns how the program ended in an earlier run. Returns `None` if it must be recorded again.
    pub fn earlier(&self) -> Result<Option<Ran>> {
        let Some(inputs_hash) = &self.inputs_hash else { return Ok(None) };
        let kept = fs::read_to_string(self.folder.join(INPUTS_HASH_FILE));
        if kept.ok().as_ref() != Some(inputs_hash) {
            return Ok(None);
        }
        let ran = fs::read_to_string(self.folder.join(RAN_FILE))
            .with_context(|| format!("{} has no {RAN_FILE}", self.folder.display()))?;
        from_str(&ran).map(Some)
    }

    /// Marks the recording as finished, unless its program was ended because it took too long.
    pub fn keep(&self, ran: &Ran) -> Result<()> {
        let Some(inputs_hash) = &self.inputs_hash else { return Ok(()) };
        if TIMED_OUT_STATUSES.contains(&ran.status) {
            return Ok(());
        }
        fs::write(self.folder.join(RAN_FILE), serde_json::to_vec(ran)?)?;
        Ok(fs::write(self.folder.join(INPUTS_HASH_FILE), inputs_hash)?)
    }
}
