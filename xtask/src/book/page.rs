//! Pages that a command writes, or compares with what it would write.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, bail};
use harness::root;

use super::steady::told;

/// The folder of the book.
pub(super) fn docs() -> PathBuf {
    root().join("docs")
}

/// The files of a folder and of those in it whose names end so, in order.
pub(super) fn files(folder: &Path, ending: &str) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).with_context(|| folder.display().to_string())? {
        let path = entry?.path();
        if path.is_dir() {
            found.extend(files(&path, ending)?);
        } else if path.extension().is_some_and(|own| own == ending) {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

/// Sees that a page of the book is as it would be written now, apart from what differs from run to run,
/// or writes it where it is not.
pub(super) fn keep(name: &str, now: &str, bless: bool) -> Result<()> {
    let path = docs().join(name);
    let kept = fs::read_to_string(&path);
    let (old, new) = (kept.as_deref().map(told).unwrap_or_default(), told(now));
    if old == new {
        return Ok(());
    }
    if bless {
        println!("written: docs/{name}");
        return fs::write(&path, now).with_context(|| format!("cannot write {}", path.display()));
    }
    let place = old.iter().zip(&new).take_while(|(old, new)| old == new).count();
    let around = |words: &[String]| {
        let start = place.saturating_sub(8);
        words[start..words.len().min(place + 12)].join(" ")
    };
    bail!(
        "docs/{name} is out of date: cargo xtask book --bless\nkept: … {}\nnow:  … {}",
        around(&old),
        around(&new)
    )
}
