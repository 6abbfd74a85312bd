//! `whyoom-fleet copy`: objects do not change, so a copy of one is never out of date.

use std::{collections::BTreeSet, path::Path};

use anyhow::Result;
use whyoom_archive::{Archive, date_of};
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
    /// Copies that were kept although the archive lists no such object.
    kept: usize,
}

impl Copied {
    /// Returns lines about entries that were not copied, and copies that were not removed. Returns `None` if there are
    /// none.
    pub(crate) fn left_out(&self) -> Option<String> {
        let mut lines: Vec<String> = passed_over::line(&self.passed_over).into_iter().collect();
        if let Some(first) = self.damaged.first() {
            let count = self.damaged.len();
            lines.push(format!(
                "{count} objects are no Parquet files and not copied, such as {first}"
            ));
        }
        if self.kept > 0 {
            lines.push(format!(
                "{} copies kept that the archive does not list, because entries of their days were passed over",
                self.kept
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
        match archive.bytes(path) {
            Ok(bytes) if parquet::is_parquet(&bytes) => {
                copies.put_copy(path, bytes)?;
                new += 1;
            }
            // What an engine would refuse, or what is not the archive's at all, stays where it is.
            Ok(_) => damaged.push(path.clone()),
            Err(error) if error.is_damage() => damaged.push(path.clone()),
            Err(error) => return Err(error.into()),
        }
    }
    // What compaction has merged is in another object now. If an entry of the day was passed over, the archive may still
    // have the object: a link in place of the day's folder hides it.
    let uncertain = archive.days_passed_over();
    // An archive without any object may be one whose file system is not mounted.
    let is_uncertain = |path: &&String| {
        wanted.is_empty() || date_of(path).is_some_and(|day| uncertain.contains(&day))
    };
    let absent = there.difference(&wanted);
    let (kept, old): (Vec<&String>, Vec<&String>) = absent.partition(is_uncertain);
    copies.remove_all(&old.into_iter().cloned().collect::<Vec<String>>())?;
    let objects = wanted.len() - damaged.len();
    Ok(Copied { objects, new, passed_over: archive.passed_over(), damaged, kept: kept.len() })
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::symlink};

    use super::*;

    #[test]
    fn copies_of_a_day_that_a_link_hides_are_kept() {
        let outer = tempfile::tempdir().unwrap();
        let at = |name: &str| outer.path().join(name);
        let objects = [17, 18, 19]
            .map(|day| format!("incidents/date=2026-11-{day}/00-n-a-0000000001.parquet"));
        for object in &objects {
            let path = at("archive").join(object);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, parquet::write(&[]).unwrap()).unwrap();
        }
        let copied = || copy(at("archive").to_str().unwrap(), &at("copies")).unwrap();
        let are_there = || objects.each_ref().map(|object| at("copies").join(object).exists());
        assert_eq!(copied().new, 3);
        // One object is removed, and a link hides the other.
        fs::remove_file(at("archive").join(&objects[0])).unwrap();
        let day = at("archive/incidents/date=2026-11-18");
        fs::rename(&day, at("moved")).unwrap();
        symlink(at("moved"), &day).unwrap();
        let hidden = copied();
        assert_eq!((hidden.objects, hidden.kept), (1, 1));
        assert!(hidden.left_out().unwrap().contains("1 copies kept"));
        assert_eq!(are_there(), [false, true, true]);
        // The day is there again, without its object.
        fs::remove_file(&day).unwrap();
        fs::create_dir(&day).unwrap();
        assert_eq!(copied().kept, 0);
        assert_eq!(are_there(), [false, false, true]);
        // Nothing at all is there, as where a file system is not mounted.
        fs::remove_dir_all(at("archive/incidents")).unwrap();
        assert_eq!(copied().kept, 1);
        assert_eq!(are_there(), [false, false, true]);
    }
}
