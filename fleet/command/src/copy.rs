//! `whyoom-fleet copy`: objects do not change, so a copy of one is never out of date.

use std::{collections::BTreeSet, path::Path};

use anyhow::Result;
use whyoom_archive::Archive;
use whyoom_incident::parquet;

use crate::{cli::CopyWish, passed_over};

/// The outcome of a copy.
pub(crate) struct Copied {
    /// Objects of the archive.
    objects: usize,
    /// Objects that the folder did not have.
    new: usize,
    /// Paths of entries of the archive that are no objects.
    passed_over: Vec<String>,
    /// Paths of objects that are no Parquet files, which were not copied.
    damaged: Vec<String>,
}

impl Copied {
    /// Returns lines about entries that were not copied. Returns `None` if everything was.
    pub(crate) fn left_out(&self) -> Option<String> {
        let mut lines: Vec<String> = passed_over::line(&self.passed_over).into_iter().collect();
        if let Some(first) = self.damaged.first() {
            let count = self.damaged.len();
            lines.push(format!(
                "{count} objects are no Parquet files and not copied, such as {first}"
            ));
        }
        if lines.is_empty() { None } else { Some(lines.join("\n")) }
    }
}

pub(crate) fn run(wish: &CopyWish) -> Result<()> {
    let copied = copy(&wish.archive, &wish.folder)?;
    println!("{} objects in {}, {} new", copied.objects, wish.folder.display(), copied.new);
    if let Some(left_out) = copied.left_out() {
        println!("{left_out}");
    }
    Ok(())
}

/// Copies the objects that a folder does not have yet. Only the user who copies may read them: the archive may be
/// open to fewer people than the folder.
pub(crate) fn copy(archive: &str, folder: &Path) -> Result<Copied> {
    let archive = Archive::existing(archive)?;
    let wanted: BTreeSet<String> = archive.objects(|_| true)?.into_iter().collect();
    let copies = Archive::private(folder)?;
    let there: BTreeSet<String> = copies.objects(|_| true)?.into_iter().collect();
    let mut damaged = Vec::new();
    let mut new = 0;
    for path in wanted.difference(&there) {
        let bytes = archive.bytes(path)?;
        // What an engine would refuse, or what is not the archive's at all, stays where it is.
        if !parquet::is_parquet(&bytes) {
            damaged.push(path.clone());
            continue;
        }
        copies.put_copy(path, bytes)?;
        new += 1;
    }
    // What compaction has merged is in another object now.
    let old: Vec<String> = there.difference(&wanted).cloned().collect();
    copies.remove_all(&old)?;
    let objects = wanted.len() - damaged.len();
    Ok(Copied { objects, new, passed_over: archive.passed_over(), damaged })
}
