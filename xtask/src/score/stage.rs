//! What every case needs: the build, interpreters, programs, and a folder of its own.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result};

use super::case::{Case, Input};
use crate::{
    lab::{Bench, programs},
    tools::{environment, must_succeed, root, scratch},
    who,
};

/// The interpreter of PyTorch's present release, which runs what names no other.
const TORCH: &str = "torch";

/// The build, with what programs are made and run by.
pub(super) struct Stage {
    who: who::Stage,
    /// The CUDA programs, where a case asks for one.
    cuda: Option<PathBuf>,
    folder: PathBuf,
}

impl Stage {
    /// Builds everything that the cases run on.
    pub(super) fn prepare(cases: &[Case]) -> Result<Self> {
        let who = who::Stage::with(&Bench::prepare()?, false)?;
        let asks =
            |case: &Case| case.program.as_ref().is_some_and(|name| name.starts_with("cuda/"));
        let cuda = cases.iter().any(asks).then(programs::build).transpose()?;
        let pythons = cases.iter().filter_map(|case| case.python.as_deref());
        // Once, before several want it at a time.
        for name in pythons.chain([TORCH]) {
            environment(name)?;
        }
        let folder = scratch("score")?;
        Ok(Self { who, cuda, folder })
    }

    /// The lab.
    pub(super) fn bench(&self) -> &Bench {
        &self.who.bench
    }

    /// The command.
    pub(super) fn whyoom(&self) -> PathBuf {
        self.bench().binaries.join("whyoom")
    }

    /// The program that holds memory.
    pub(super) fn holder(&self) -> &Path {
        &self.who.holder
    }

    /// An empty folder for a case.
    pub(super) fn fresh(&self, case: &Case, what: &str) -> Result<PathBuf> {
        let folder = self.folder.join(&case.name).join(what);
        if folder.exists() {
            fs::remove_dir_all(&folder)?;
        }
        fs::create_dir_all(&folder)?;
        Ok(folder)
    }

    /// The interpreter that a case runs in.
    pub(super) fn python(&self, case: &Case) -> Result<PathBuf> {
        Ok(environment(case.python.as_deref().unwrap_or(TORCH))?.join("bin/python"))
    }

    /// The words that start a case's program, of which `source` may be a changed copy.
    pub(super) fn command(&self, case: &Case, source: &Path) -> Result<Vec<PathBuf>> {
        let kind = source.extension().and_then(|kind| kind.to_str()).unwrap_or_default();
        Ok(match kind {
            "py" => vec![self.python(case)?, source.to_path_buf()],
            "c" => vec![self.compiled(case, source)?],
            "sh" => vec!["sh".into(), "-euc".into(), scene_script(), source.to_path_buf()],
            _ => vec![self.built(source)?],
        })
    }

    fn compiled(&self, case: &Case, source: &Path) -> Result<PathBuf> {
        let out = self.fresh(case, "program")?.join(&case.name);
        let mut compiler = Command::new("cc");
        compiler.args(["-O1", "-g", "-Wall", "-pthread", "-o"]).arg(&out);
        compiler.arg(source).arg("-I").arg(root().join("tests/scenarios/recorder"));
        // A changed copy lies elsewhere than what it includes.
        let Input::Program(original) = case.input()? else { return Ok(out) };
        compiler.arg("-I").arg(original.parent().unwrap_or(Path::new("."))).arg("-ldl");
        must_succeed(&mut compiler)?;
        Ok(out)
    }

    fn built(&self, source: &Path) -> Result<PathBuf> {
        let name = source.file_name().context("a program without a name")?;
        Ok(self.cuda.as_ref().context("the CUDA programs were not built")?.join(name))
    }
}

/// Runs the scene that is its first argument, behind what scenes share.
fn scene_script() -> PathBuf {
    let shared = root().join("tests/scenarios/scene.sh");
    format!(r#". "{}"; scene=$0; . "$scene""#, shared.display()).into()
}
