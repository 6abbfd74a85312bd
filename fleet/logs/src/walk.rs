//! The files that a pattern names, without following a link below the folder that the site named.

use std::{
    fs::File,
    io,
    os::unix::ffi::OsStrExt as _,
    path::{Component, Path, PathBuf},
};

use glob::Pattern as Glob;
use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, ResolveFlags, openat2, statat};

/// Entries of folders that are looked at for one pattern, and of one folder: whoever fills theirs hides nobody else's.
const MOST_ENTRIES: usize = 1 << 17;
const MOST_OF_FOLDER: usize = 1 << 13;

/// A pattern: the folder before its first wildcard, which is the site's own choice, and what is looked for below.
/// `*`, `?` and `[…]` stand for parts of one name.
#[derive(Debug, Clone)]
pub struct Pattern {
    folder: PathBuf,
    names: Vec<Glob>,
}

/// Something that a pattern names.
#[derive(Debug, Clone)]
pub struct Entry {
    /// The folder that the site named, links resolved.
    pub folder: PathBuf,
    /// The path below it.
    pub below: PathBuf,
    /// Its file system.
    pub device: u64,
    /// Its number there.
    pub inode: u64,
    /// Its owner.
    pub owner: u32,
}

/// All that a pattern names.
#[derive(Debug, Default)]
pub struct Named {
    /// What was found.
    pub entries: Vec<Entry>,
    /// Whether that is all: no folder had more entries than are looked at.
    pub is_whole: bool,
}

impl Entry {
    /// Its whole path.
    #[must_use]
    pub fn path(&self) -> PathBuf {
        self.folder.join(&self.below)
    }
}

/// What is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wanted {
    /// Regular files.
    Files,
    /// Folders.
    Folders,
}

impl Pattern {
    /// # Errors
    /// Where a name is no pattern.
    pub fn new(pattern: &Path) -> Result<Self, glob::PatternError> {
        let is_plain =
            |part: &Component<'_>| !part.as_os_str().to_string_lossy().contains(['*', '?', '[']);
        let parts: Vec<Component<'_>> = pattern.components().collect();
        // A pattern without a wildcard names something in its folder.
        let plain = parts.iter().take_while(|part| is_plain(part)).count();
        let plain = plain.min(parts.len().saturating_sub(1));
        let names =
            parts[plain..].iter().map(|part| Glob::new(&part.as_os_str().to_string_lossy()));
        Ok(Self {
            folder: parts[..plain].iter().collect(),
            names: names.collect::<Result<_, _>>()?,
        })
    }

    /// The folder that the site named, links resolved; nothing where it is not there.
    #[must_use]
    pub fn folder(&self) -> Option<PathBuf> {
        self.folder.canonicalize().ok()
    }

    /// All that it names.
    ///
    /// # Errors
    /// Where the site's folder cannot be read: then nothing is known of what is below. One that is not there has
    /// nothing below.
    pub fn entries(&self, wanted: Wanted) -> io::Result<Named> {
        let mut named = Named { entries: Vec::new(), is_whole: true };
        let folder = match self.folder.canonicalize() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(named),
            found => found?,
        };
        let opened = open_folder(&folder)?;
        let mut walk = Walk { folder: &folder, wanted, left: MOST_ENTRIES, named: &mut named };
        walk.walk(&opened, Path::new(""), &self.names)?;
        Ok(named)
    }
}

#[allow(clippy::disallowed_methods, reason = "the folder that the site named")]
pub(crate) fn open_folder(path: &Path) -> io::Result<File> {
    File::open(path)
}

struct Walk<'a> {
    folder: &'a Path,
    wanted: Wanted,
    left: usize,
    named: &'a mut Named,
}

impl Walk<'_> {
    fn walk(&mut self, opened: &File, below: &Path, names: &[Glob]) -> io::Result<()> {
        let Some((first, rest)) = names.split_first() else { return Ok(()) };
        for (number, entry) in Dir::read_from(opened)?.enumerate() {
            let entry = entry?;
            if self.left == 0 || number >= MOST_OF_FOLDER {
                self.named.is_whole = false;
                return Ok(());
            }
            self.left -= 1;
            let name = Path::new(std::ffi::OsStr::from_bytes(entry.file_name().to_bytes()));
            let is_dots = matches!(name.to_str(), Some("." | ".."));
            if is_dots || !first.matches_path(name) {
                continue;
            }
            if rest.is_empty() {
                self.add(opened, name, &below.join(name));
            } else if let Ok(folder) = open_below(opened, name) {
                // A folder that is gone or closed to us meanwhile has nothing for us.
                let _ = self.walk(&folder, &below.join(name), rest);
            }
        }
        Ok(())
    }

    fn add(&mut self, opened: &File, name: &Path, below: &Path) {
        let Ok(found) = statat(opened, name, AtFlags::SYMLINK_NOFOLLOW) else { return };
        let is_wanted = match FileType::from_raw_mode(found.st_mode) {
            FileType::RegularFile => self.wanted == Wanted::Files,
            FileType::Directory => self.wanted == Wanted::Folders,
            _ => false,
        };
        if is_wanted {
            self.named.entries.push(Entry {
                folder: self.folder.to_owned(),
                below: below.to_owned(),
                device: found.st_dev,
                inode: found.st_ino,
                owner: found.st_uid,
            });
        }
    }
}

/// A folder in another, which must not be a link.
fn open_below(folder: &File, name: &Path) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    Ok(File::from(openat2(folder, name, flags, Mode::empty(), resolve)?))
}

/// Opens a folder that a pattern named.
///
/// # Errors
/// Where it is gone, or a part of the path below the site's folder is a link now.
pub fn open_folder_entry(entry: &Entry) -> io::Result<File> {
    open_folder_below(&entry.folder, &entry.below)
}

/// Opens a folder by its path below the site's, which may be that itself. No part of it may be a link.
pub(crate) fn open_folder_below(site: &Path, below: &Path) -> io::Result<File> {
    let opened = open_folder(site)?;
    if below.as_os_str().is_empty() { Ok(opened) } else { open_below(&opened, below) }
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::symlink};

    use super::*;

    #[test]
    fn links_lead_nowhere_and_other_things_are_not_named() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::create_dir_all(at("pods/a/main")).unwrap();
        fs::create_dir_all(at("secret/main")).unwrap();
        fs::write(at("pods/a/main/0.log"), "x").unwrap();
        fs::write(at("pods/a/main/0.txt"), "x").unwrap();
        fs::write(at("secret/main/1.log"), "x").unwrap();
        symlink("../secret", at("pods/b")).unwrap();
        symlink(".", at("pods/a/loop")).unwrap();
        symlink("../../../secret/main/1.log", at("pods/a/main/2.log")).unwrap();
        symlink(at("pods"), at("here")).unwrap();
        for start in ["pods", "here"] {
            let pattern = Pattern::new(&at(start).join("*/*/*.log")).unwrap();
            let found = pattern.entries(Wanted::Files).unwrap().entries;
            assert_eq!(found.len(), 1, "{found:?}");
            assert_eq!(found[0].below, Path::new("a/main/0.log"));
        }
        let folders =
            Pattern::new(&at("pods/a/*")).unwrap().entries(Wanted::Folders).unwrap().entries;
        assert_eq!(folders.len(), 1);
        assert!(
            Pattern::new(&at("absent/*.log"))
                .unwrap()
                .entries(Wanted::Files)
                .unwrap()
                .entries
                .is_empty()
        );
        assert_eq!(
            Pattern::new(&at("pods/a/main/0.log"))
                .unwrap()
                .entries(Wanted::Files)
                .unwrap()
                .entries
                .len(),
            1
        );
    }

    #[test]
    fn a_folder_that_is_full_hides_no_other() {
        let folder = tempfile::tempdir().unwrap();
        for (owner, files) in [("a", MOST_OF_FOLDER + 10), ("b", 1)] {
            fs::create_dir(folder.path().join(owner)).unwrap();
            for number in 0..files {
                fs::write(folder.path().join(owner).join(format!("{number}.log")), "").unwrap();
            }
        }
        let named = Pattern::new(&folder.path().join("*/*.log")).unwrap();
        let named = named.entries(Wanted::Files).unwrap();
        assert!(!named.is_whole);
        assert!(named.entries.iter().any(|entry| entry.below.starts_with("b")));
    }
}
