//! A case's program, and how it is started.

use std::{
    cell::Cell,
    ffi::OsString,
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result};
use harness::{
    KeptRecording, Ran, SceneStage, Trial, cuda_programs, empty_folder, environment, must_succeed,
    root,
    score::{Case, Input},
    scratch, text,
};

/// The interpreter of PyTorch's present release, which runs what names no other.
const TORCH: &str = "torch";

/// Counts of the recordings of one case.
#[derive(Debug, Default)]
pub(super) struct Recordings {
    /// Programs that were run and recorded.
    pub(super) recorded: Cell<u64>,
    /// Recordings of an earlier run that are judged again.
    pub(super) reused: Cell<u64>,
}

/// A case's program with everything that starts it.
#[derive(Clone)]
pub(super) struct Program<'a> {
    case: &'a Case,
    stage: &'a SceneStage,
    recordings: &'a Recordings,
    pub(super) source: PathBuf,
    pub(super) arguments: Vec<String>,
    pub(super) environment: Vec<(String, String)>,
    /// Options of `whyoom run`.
    pub(super) options: Vec<String>,
}

impl<'a> Program<'a> {
    /// As the table says.
    pub(super) fn of(
        case: &'a Case,
        stage: &'a SceneStage,
        recordings: &'a Recordings,
        source: PathBuf,
    ) -> Self {
        let environment = case.environment.clone().into_iter().collect();
        let (arguments, options) = (case.arguments.clone(), case.options.clone());
        Self { case, stage, recordings, source, arguments, environment, options }
    }

    /// Whether it is a scene, which starts `whyoom run` itself.
    fn is_scene(&self) -> bool {
        self.source.extension().is_some_and(|kind| kind == "sh")
    }

    /// Runs the program under `whyoom run`, or finds the recording that an earlier run made of the same program. Returns
    /// the recording and how the program ended.
    pub(super) fn recorded(&self, name: &str) -> Result<(PathBuf, Ran)> {
        // What a scene or a flight recorder leaves depends on the crates that judge, too.
        if self.is_scene() || self.options.iter().any(|option| option == "--flight") {
            self.recordings.recorded.update(|count| count + 1);
            return self.record(name);
        }
        let folder = scratch("fresh")?.join(self.folder_name(name));
        let kept =
            KeptRecording::new(folder.clone(), &self.sources_folder()?, &self.description()?)?;
        if let Some(ran) = kept.earlier()? {
            self.recordings.reused.update(|count| count + 1);
            return Ok((folder.join("run"), ran));
        }
        let (recording, ran) = self.record(name)?;
        self.recordings.recorded.update(|count| count + 1);
        kept.keep(&ran)?;
        Ok((recording, ran))
    }

    /// Returns the folder with the program and everything that it imports or includes.
    fn sources_folder(&self) -> Result<PathBuf> {
        let folder = original_folder(self.case)?;
        // Programs without a source of their own are compiled from there.
        Ok(if folder.is_dir() { folder } else { root().join("tests/scenarios/cuda") })
    }

    /// Returns everything that starts the program, as text.
    fn description(&self) -> Result<String> {
        let source = if self.source.is_file() { fs::read(&self.source)? } else { Vec::new() };
        Ok(format!(
            "{}\n{}\n{:?}\n{:?}\n{:?}\n{:?}\n{:?}",
            text(&self.source),
            String::from_utf8_lossy(&source),
            self.arguments,
            self.environment,
            self.options,
            self.case.lab,
            self.case.python
        ))
    }

    /// Runs the program under `whyoom run` in an empty folder.
    fn record(&self, name: &str) -> Result<(PathBuf, Ran)> {
        let folder = self.folder(name)?;
        let recording = folder.join("run");
        let record = self.record_words(&recording);
        let mut command: Vec<OsString> = if self.is_scene() { Vec::new() } else { record.clone() };
        command.extend(self.command()?.into_iter().map(Into::into));
        command.extend(self.arguments.iter().map(Into::into));
        let mut trial = Trial::on(&self.case.lab, &command);
        trial.build = Some(self.stage.build.clone());
        trial.environment.clone_from(&self.environment);
        // A changed copy lies elsewhere than what it imports.
        trial = trial.with("PYTHONPATH", original_folder(self.case)?);
        if self.is_scene() {
            trial.environment.extend(self.scene_variables(&folder, &record)?);
        }
        Ok((recording, trial.plain()?))
    }

    /// An empty folder of the case's own.
    pub(super) fn folder(&self, what: &str) -> Result<PathBuf> {
        empty_folder(&self.folder_name(what))
    }

    fn folder_name(&self, what: &str) -> String {
        format!("score/{}/{what}", self.case.name)
    }

    fn record_words(&self, recording: &Path) -> Vec<OsString> {
        let mut words: Vec<OsString> = vec![self.stage.build.whyoom().into()];
        words.extend(["run".into(), "-o".into(), recording.into()]);
        words.extend(self.options.iter().map(Into::into));
        words.push("--".into());
        words
    }

    /// The words that start it.
    fn command(&self) -> Result<Vec<PathBuf>> {
        let kind = self.source.extension().and_then(|kind| kind.to_str()).unwrap_or_default();
        let source = self.source.clone();
        Ok(match kind {
            "py" => vec![python(self.case)?, source],
            "c" => vec![self.compiled()?],
            "sh" => vec!["sh".into(), "-euc".into(), scene_script(), source],
            _ => vec![cuda_programs()?.join(source.file_name().context("no name")?)],
        })
    }

    fn compiled(&self) -> Result<PathBuf> {
        // A verdict reads symbols from the program. So the changed copy must not replace the original's program.
        let is_original = self.source.parent() == Some(original_folder(self.case)?.as_path());
        let folder = if is_original { "program" } else { "program-changed" };
        let out = self.folder(folder)?.join(&self.case.name);
        let mut compiler = Command::new("cc");
        compiler.args(["-O1", "-g", "-Wall", "-pthread", "-o"]).arg(&out);
        compiler.arg(&self.source).arg("-I").arg(root().join("tests/scenarios/recorder"));
        // A changed copy lies elsewhere than what it includes.
        compiler.arg("-I").arg(original_folder(self.case)?).arg("-ldl");
        must_succeed(&mut compiler)?;
        Ok(out)
    }

    /// What `tests/scenarios/scene.sh` says is given.
    fn scene_variables(&self, folder: &Path, record: &[OsString]) -> Result<Vec<(String, String)>> {
        let scratch = folder.join("scratch");
        fs::create_dir_all(&scratch)?;
        let words: Vec<_> = record.iter().map(|word| word.to_string_lossy()).collect();
        let whyoom = self.stage.build.whyoom();
        // Of a script, so that what it prints is kept wherever it is called.
        let who = folder.join("who");
        let said = who_document(folder);
        let script = format!("#!/bin/sh\n\"{}\" who --json >\"{}\"\n", text(&whyoom), text(&said));
        fs::write(&who, script)?;
        fs::set_permissions(&who, fs::Permissions::from_mode(0o755))?;
        let pairs = [
            ("WHYOOM", text(&whyoom)),
            ("PYTHON", text(&python(self.case)?)),
            ("HOLDER", text(&self.stage.holder)),
            ("CASES", text(&self.case.folder)),
            ("SCRATCH", text(&scratch)),
            ("RECORDING", text(&folder.join("run"))),
            ("RECORD", words.join(" ")),
            ("WHO", text(&who)),
            ("VERDICT", text(&verdict_document(folder))),
        ];
        Ok(pairs.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
    }
}

/// Returns the file with the verdict that a scene asked for while its processes were alive.
pub(super) fn verdict_document(folder: &Path) -> PathBuf {
    folder.join("why.json")
}

/// Where a scene's `whyoom who` writes.
pub(super) fn who_document(folder: &Path) -> PathBuf {
    folder.join("who.json")
}

/// The interpreter that a case runs in.
fn python(case: &Case) -> Result<PathBuf> {
    Ok(environment(case.python.as_deref().unwrap_or(TORCH))?.join("bin/python"))
}

fn original_folder(case: &Case) -> Result<PathBuf> {
    let Input::Program(original) = case.input()? else { return Ok(PathBuf::new()) };
    Ok(original.parent().map(Path::to_path_buf).unwrap_or_default())
}

/// Runs the scene that is its first argument, behind what scenes share.
fn scene_script() -> PathBuf {
    let shared = root().join("tests/scenarios/scene.sh");
    format!(r#". "{}"; scene=$0; . "$scene""#, shared.display()).into()
}
