//! What is exported: made snapshots, runs recorded in the lab with and without PyTorch, a real snapshot.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};

use crate::{
    lab::{Bench, programs},
    tools::{environment, root, shared_data, skipped},
};

/// An input.
pub(super) struct Input {
    pub(super) name: String,
    pub(super) path: PathBuf,
    /// A snapshot of PyTorch's: it must come back as it was.
    pub(super) is_snapshot: bool,
    /// The run whose bytes are counted.
    pub(super) is_measured: bool,
}

/// CUDA programs without PyTorch: pieces that come and go, a stream-ordered pool, growth.
const PROGRAMS: &[&str] = &["program01", "program03", "program10"];

/// Everything that is exported.
pub(super) fn all(bench: &Bench) -> Result<Vec<Input>> {
    let mut inputs = snapshots(&root().join("tests/fixtures/snapshots"))?;
    inputs.push(torch(bench)?);
    inputs.extend(cuda(bench)?);
    match shared_data() {
        Some(shared) => inputs.push(largest(&shared.join("torch-snapshots"))?),
        None => skipped("a large snapshot from a real GPU"),
    }
    Ok(inputs)
}

fn snapshots(folder: &Path) -> Result<Vec<Input>> {
    let files = std::fs::read_dir(folder).with_context(|| folder.display().to_string())?;
    let mut files: Vec<PathBuf> = files.flatten().map(|entry| entry.path()).collect();
    files.retain(|file| file.extension().is_some_and(|end| end == "pickle"));
    files.sort();
    Ok(files.into_iter().map(snapshot).collect())
}

fn snapshot(path: PathBuf) -> Input {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    Input { name, path, is_snapshot: true, is_measured: false }
}

/// The largest of the real snapshots.
fn largest(folder: &Path) -> Result<Input> {
    let size = |input: &Input| input.path.metadata().map_or(0, |metadata| metadata.len());
    snapshots(folder)?.into_iter().max_by_key(size).context("no snapshots")
}

/// A program of PyTorch's that dies, recorded.
fn torch(bench: &Bench) -> Result<Input> {
    let python = environment("torch")?.join("bin/python").display().to_string();
    let script = root().join("tests/scenarios/torch/fragmented.py").display().to_string();
    let flags = ["--gpu", "rtx-4090", "--memory", "3650MiB"];
    let path = record(bench, "fragmented", &flags, &[python, script])?;
    Ok(Input {
        name: "fragmented.py, recorded".to_owned(),
        path,
        is_snapshot: false,
        is_measured: true,
    })
}

fn cuda(bench: &Bench) -> Result<Vec<Input>> {
    let folder = programs::build()?;
    let record = |name: &&str| {
        let program = folder.join(name).display().to_string();
        let path = record(bench, name, &["--memory", "2GiB"], &[program])?;
        let name = format!("{name}.cu, recorded");
        Ok(Input { name, path, is_snapshot: false, is_measured: false })
    };
    PROGRAMS.iter().map(record).collect()
}

/// Records a program in the lab; the recording's folder.
fn record(bench: &Bench, name: &str, flags: &[&str], command: &[String]) -> Result<PathBuf> {
    let folder = super::folder()?.join(format!("recorded-{name}"));
    if folder.exists() {
        std::fs::remove_dir_all(&folder)?;
    }
    let text = |path: &Path| path.display().to_string();
    let whyoom = bench.binaries.join("whyoom");
    let mut words = vec![text(&whyoom), "run".to_owned(), "-o".to_owned(), text(&folder)];
    words.push("--".to_owned());
    words.extend_from_slice(command);
    let outcome = bench.run(flags, &words)?;
    ensure!(folder.is_dir(), "nothing was recorded: {}", outcome.stderr);
    Ok(folder)
}
