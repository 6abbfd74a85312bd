//! Programs that are compiled before they run.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result};

use crate::{
    checkout::{root, scratch},
    environment::cuda,
    once::{once, stamp_of},
    preparation::must_succeed,
};

/// A program in C, of one file.
#[derive(Debug)]
pub struct CProgram {
    source: PathBuf,
    /// What it is called, beside others of the same source.
    pub name: String,
    /// Words behind the source: libraries, definitions.
    pub flags: Vec<String>,
}

impl CProgram {
    /// Of a source below the checkout.
    pub fn new(source: &str) -> Result<Self> {
        let source = root().join(source);
        let name = source.file_stem().context("a program without a name")?;
        let name = name.to_string_lossy().into_owned();
        Ok(Self { source, name, flags: vec!["-pthread".into(), "-ldl".into()] })
    }

    /// Compiled, once.
    pub fn built(&self) -> Result<PathBuf> {
        let program = scratch("programs")?.join(&self.name);
        let headers = self.source.parent().unwrap_or(Path::new("."));
        let stamp = format!("{}{:?}", stamp_of(&files(headers)?)?, self.flags);
        once(&format!("c-{}", self.name), &stamp, || {
            let mut compiler = Command::new("cc");
            compiler.args(["-O1", "-g", "-Wall", "-Wextra", "-Werror", "-o"]).arg(&program);
            must_succeed(compiler.arg(&self.source).args(&self.flags))
        })?;
        Ok(program)
    }
}

/// The folder with the compiled programs of `tests/scenarios/cuda`.
pub fn cuda_programs() -> Result<PathBuf> {
    let (folder, programs) = (root().join("tests/scenarios/cuda"), scratch("cuda-programs")?);
    let cuda = cuda()?;
    once("cuda-programs", &stamp_of(&files(&folder)?)?, || {
        must_succeed(Command::new("sh").arg(folder.join("build.sh")).arg(&programs).arg(&cuda))
    })?;
    Ok(programs)
}

/// The files of a folder, by name: what its programs are made of.
pub fn files(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = std::fs::read_dir(folder)?;
    let mut files: Vec<PathBuf> =
        entries.map(|entry| Ok(entry?.path())).collect::<std::io::Result<_>>()?;
    files.retain(|file| file.is_file());
    files.sort();
    Ok(files)
}
