//! One case, tried.

use std::{
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use anyhow::{Context, Result};
use serde_json::Value;

use super::{
    answer::Answer,
    case::{Case, Input},
    remedy,
    stage::Stage,
    truth::Truth,
};
use crate::{lab::Outcome, tools::why};

/// What came of a case.
pub(super) struct Tried {
    pub(super) answer: Answer,
    pub(super) truth: Truth,
    /// Whether the remedy worked, where it was applied.
    pub(super) worked: Option<bool>,
    /// What can be judged again, for people to read.
    pub(super) judged: Vec<PathBuf>,
    pub(super) time: Duration,
}

/// Runs a case, asks why, and applies the remedy where the table says how.
pub(super) fn run(stage: &Stage, case: &Case) -> Result<Tried> {
    let started = Instant::now();
    let (answer, truth, judged) = match case.input()? {
        Input::Files(files) => {
            let paths: Vec<&Path> = files.iter().map(PathBuf::as_path).collect();
            let answer = Answer::of_why(&why(&stage.whyoom(), &paths)?);
            (answer, Truth::default(), files)
        }
        Input::Program(source) => recorded(stage, case, &source)?,
    };
    let applied = remedy::apply(stage, case, &answer).context("the remedy was not applied")?;
    let worked = applied.or(truth.worked());
    Ok(Tried { answer, truth, worked, judged, time: started.elapsed() })
}

fn recorded(stage: &Stage, case: &Case, source: &Path) -> Result<(Answer, Truth, Vec<PathBuf>)> {
    let run = Run { source: source.to_path_buf(), ..Run::of(case) };
    let (recording, outcome) = run.recorded(stage, case, "recording")?;
    let truth = Truth::of(&outcome.stdout);
    if case.who {
        let said = recording.with_file_name("who.json");
        let document: Value = serde_json::from_slice(&fs::read(&said)?)
            .with_context(|| format!("whyoom who did not answer: {}", outcome.stderr))?;
        return Ok((Answer::of_who(&document), truth, vec![said]));
    }
    let document = why(&stage.whyoom(), &[&recording])
        .with_context(|| format!("nothing was recorded: {}", outcome.stderr))?;
    Ok((Answer::of_why(&document), truth, vec![recording]))
}

/// How a case's program is run.
#[derive(Clone, Default)]
pub(super) struct Run {
    pub(super) source: PathBuf,
    pub(super) arguments: Vec<String>,
    pub(super) environment: Vec<(String, String)>,
    /// Options of `whyoom run`.
    pub(super) options: Vec<String>,
}

impl Run {
    /// As the table says.
    pub(super) fn of(case: &Case) -> Self {
        let environment = case.environment.clone().into_iter().collect();
        let (arguments, options) = (case.arguments.clone(), case.options.clone());
        Self { source: PathBuf::new(), arguments, environment, options }
    }

    /// Under `whyoom run`; a scene does that itself.
    pub(super) fn recorded(
        &self,
        stage: &Stage,
        case: &Case,
        name: &str,
    ) -> Result<(PathBuf, Outcome)> {
        let folder = stage.fresh(case, name)?;
        let recording = folder.join("run");
        let scene = self.source.extension().is_some_and(|kind| kind == "sh");
        let record = self.record_words(stage, &recording);
        let mut command: Vec<OsString> = if scene { Vec::new() } else { record.clone() };
        command.extend(stage.command(case, &self.source)?.into_iter().map(Into::into));
        command.extend(self.arguments.iter().map(Into::into));
        let mut environment = self.environment.clone();
        // A changed copy lies elsewhere than what it imports.
        let beside = self.beside(case)?;
        environment.push(("PYTHONPATH".into(), text(&beside)));
        if scene {
            environment.extend(self.scene_words(stage, case, &folder, &record)?);
        }
        let outcome = stage.bench().run_with(&case.lab, &command, &environment)?;
        Ok((recording, outcome))
    }

    fn record_words(&self, stage: &Stage, recording: &Path) -> Vec<OsString> {
        let mut words: Vec<OsString> = vec![stage.whyoom().into(), "run".into(), "-o".into()];
        words.push(recording.into());
        words.extend(self.options.iter().map(Into::into));
        words.push("--".into());
        words
    }

    fn beside(&self, case: &Case) -> Result<PathBuf> {
        let Input::Program(original) = case.input()? else { return Ok(PathBuf::new()) };
        Ok(original.parent().map(Path::to_path_buf).unwrap_or_default())
    }

    /// What `tests/scenarios/scene.sh` says is given.
    fn scene_words(
        &self,
        stage: &Stage,
        case: &Case,
        folder: &Path,
        record: &[OsString],
    ) -> Result<Vec<(String, String)>> {
        let scratch = folder.join("scratch");
        fs::create_dir_all(&scratch)?;
        let words: Vec<_> = record.iter().map(|word| word.to_string_lossy()).collect();
        let whyoom = stage.whyoom();
        // Of a script, so that what it prints is kept wherever it is called.
        let who = folder.join("who");
        let said = folder.join("who.json");
        let script = format!("#!/bin/sh\n\"{}\" who --json >\"{}\"\n", text(&whyoom), text(&said));
        fs::write(&who, script)?;
        make_executable(&who)?;
        let pairs = [
            ("WHYOOM", text(&whyoom)),
            ("PYTHON", text(&stage.python(case)?)),
            ("HOLDER", text(stage.holder())),
            ("CASES", text(&case.folder)),
            ("SCRATCH", text(&scratch)),
            ("RECORDING", text(&folder.join("run"))),
            ("RECORD", words.join(" ")),
            ("WHO", text(&who)),
        ];
        Ok(pairs.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
    }
}

fn make_executable(path: &Path) -> Result<()> {
    use std::os::unix::fs::PermissionsExt;
    Ok(fs::set_permissions(path, fs::Permissions::from_mode(0o755))?)
}

fn text(path: &Path) -> String {
    path.display().to_string()
}
