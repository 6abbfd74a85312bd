//! What is exported: made snapshots, runs recorded in the lab with and without PyTorch, a real snapshot.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use harness::{Trial, cuda_programs, python, root, shared_data, snapshots, text};

use crate::tools::file_name;

/// An input.
pub(super) struct Input {
    pub(super) name: String,
    pub(super) path: PathBuf,
    /// A snapshot of PyTorch's: it must come back as it was.
    pub(super) is_snapshot: bool,
}

/// CUDA programs without PyTorch: pieces that come and go, a stream-ordered pool, growth.
const PROGRAMS: [&str; 3] = ["program01", "program03", "program10"];

/// Everything that is exported beside [`torch`].
pub(super) fn others() -> Result<Vec<Input>> {
    let real = largest(&shared_data()?.join("torch-snapshots"))?;
    let made = snapshots(&root().join("tests/fixtures/snapshots"))?;
    let mut inputs: Vec<Input> = made.into_iter().chain([real]).map(snapshot).collect();
    let folder = cuda_programs()?;
    for name in PROGRAMS {
        let trial = Trial::new("2GiB", &[folder.join(name)]);
        inputs.push(recorded(&format!("{name}.cu"), &trial, 0)?);
    }
    Ok(inputs)
}

/// A program of PyTorch's that dies, recorded.
pub(super) fn torch() -> Result<Input> {
    let script = text(&root().join("tests/scenarios/torch/fragmented.py"));
    let flags = ["--gpu", "rtx-4090", "--memory", "3650MiB"];
    recorded("fragmented.py", &Trial::on(&flags, &[python()?, script]), 3)
}

fn snapshot(path: PathBuf) -> Input {
    Input { name: file_name(&path), path, is_snapshot: true }
}

/// The largest of the snapshots in a folder.
fn largest(folder: &Path) -> Result<PathBuf> {
    let sized = |path: PathBuf| Ok((path.metadata()?.len(), path));
    let sized = snapshots(folder)?.into_iter().map(sized).collect::<Result<Vec<_>>>()?;
    Ok(sized.into_iter().max().context("no snapshots")?.1)
}

/// Records a program in the lab that ends with a status.
fn recorded(name: &str, trial: &Trial, status: i32) -> Result<Input> {
    let recorded = trial.recorded(&format!("exports-{name}"))?;
    let ran = &recorded.ran;
    ensure!(ran.status == status, "{name} ended with {}: {}", ran.status, ran.stderr);
    Ok(Input { name: format!("{name}, recorded"), path: recorded.folder, is_snapshot: false })
}
