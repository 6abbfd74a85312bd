//! `whyoom-fleet copy`: objects do not change, so a copy of one is never out of date.

use std::{collections::BTreeSet, fs, path::Path};

use anyhow::{Context as _, Result};
use whyoom_archive::Archive;

use crate::cli::CopyWish;

pub(crate) fn run(wish: &CopyWish) -> Result<()> {
    let (all, new) = copy(&wish.archive, &wish.folder)?;
    println!("{all} objects in {}, {new} new", wish.folder.display());
    Ok(())
}

/// Copies what a folder does not have yet. Returns how many objects there are, and how many were new.
pub(crate) fn copy(archive: &str, folder: &Path) -> Result<(usize, usize)> {
    let archive = Archive::existing(archive)?;
    let wanted: BTreeSet<String> = archive.objects(|_| true)?.into_iter().collect();
    let name = folder.to_str().context("a folder whose name is no text")?;
    let there: BTreeSet<String> = Archive::open(name)?.objects(|_| true)?.into_iter().collect();
    for path in wanted.difference(&there) {
        write(&folder.join(path), &archive.bytes(path)?)?;
    }
    // What compaction has merged is in another object now.
    for path in there.difference(&wanted) {
        fs::remove_file(folder.join(path))?;
    }
    Ok((wanted.len(), wanted.difference(&there).count()))
}

/// As a whole or not at all: the name tells who reads that it is there.
fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    fs::create_dir_all(path.parent().context("an object without a folder")?)?;
    let part = path.with_extension("part");
    fs::write(&part, bytes)?;
    Ok(fs::rename(part, path)?)
}
