//! `--sarif` of `why` and `fit`.

use std::{
    io::{self, Write},
    path::{Path, PathBuf},
};

use anyhow::{Context, Result};
use whyoom_report::SourceFolders;

use crate::whole_file::WholeFile;

/// Writes a file, whole or not at all; URIs in it are relative to the current folder.
pub(crate) fn write(
    path: &Path,
    document: impl FnOnce(&SourceFolders, &mut dyn Write) -> io::Result<()>,
) -> Result<()> {
    let context = || format!("cannot write {}", path.display());
    // The folder's own name, and that by which the shell came here.
    let names = [std::env::current_dir().ok(), std::env::var_os("PWD").map(PathBuf::from)];
    let folders = SourceFolders::new(names.into_iter().flatten());
    let file = WholeFile::begin(path)?;
    let mut out = io::BufWriter::new(file.handle()?);
    document(&folders, &mut out).with_context(context)?;
    out.flush().with_context(context)?;
    drop(out);
    file.finish()
}
