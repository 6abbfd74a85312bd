//! A recording or a snapshot, known by its content.

use std::{
    fs::File,
    io::{self, Read as _},
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use whyoom_files::{
    below::{Access, EntryKind, OpenFolder},
    untrusted,
};
use whyoom_judge::Matter;

/// Read at once.
const CHUNK: usize = 1 << 20;
/// A longer file is no ring of a run. Its holes cost nothing, and reading them would.
const LONGEST: u64 = 64 << 30;

/// What a path is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Kind {
    /// A folder that `whyoom run` left.
    Recording,
    /// A snapshot of PyTorch, or another file that `whyoom replay` reads.
    Snapshot,
}

/// Where it is.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Recording {
    pub(super) path: PathBuf,
    kind: Kind,
}

impl Recording {
    pub(super) fn new(path: PathBuf, kind: Kind) -> Self {
        Self { path, kind }
    }

    /// Opens what is judged: a folder or a regular file, and no link.
    pub(super) fn matter(&self) -> io::Result<Matter> {
        let (parent, name) = self.split()?;
        let parent = open_folder(parent)?;
        Ok(match self.kind {
            Kind::Recording => Matter::Recording(untrusted::open_folder_below(&parent, name)?),
            Kind::Snapshot => Matter::Snapshot(untrusted::open_below(&parent, name)?),
        })
    }

    /// Returns the SHA-256 hash of all bytes of all regular files, with their names. No link is followed.
    pub(super) fn digest(&self) -> io::Result<String> {
        let (parent, name) = self.split()?;
        let parent = OpenFolder::open(&parent.join("."), Access::Private)?;
        let files = match self.kind {
            Kind::Recording => files_of(&parent, name)?,
            Kind::Snapshot => vec![name.to_owned()],
        };
        let mut hash = Sha256::new();
        for path in files {
            let below = path.strip_prefix(name).unwrap_or(&path).as_os_str().as_encoded_bytes();
            hash.update((below.len() as u64).to_le_bytes());
            hash.update(below);
            add(&mut hash, &parent.open_file(&path)?)?;
        }
        Ok(hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
    }

    /// Returns the folder that the path is in, and the name there.
    fn split(&self) -> io::Result<(&Path, &Path)> {
        let split = self.path.parent().zip(self.path.file_name());
        let (parent, name) = split.ok_or(io::ErrorKind::InvalidInput)?;
        Ok((parent, Path::new(name)))
    }
}

/// Opens a folder. Anything else is an error, and not waited for, because of the dot at the end of the path.
#[allow(clippy::disallowed_methods, reason = "whoever replays names what is replayed")]
fn open_folder(path: &Path) -> io::Result<File> {
    File::open(path.join("."))
}

/// Returns the paths of all regular files below a folder, in order.
fn files_of(parent: &OpenFolder, folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut entries = parent.entries(folder)?;
    entries.sort_by(|one, other| one.name.cmp(&other.name));
    let mut files = Vec::new();
    for entry in entries {
        let path = folder.join(&entry.name);
        match entry.kind {
            EntryKind::Folder => files.extend(files_of(parent, &path)?),
            EntryKind::File { .. } => files.push(path),
            EntryKind::Other => {}
        }
    }
    Ok(files)
}

fn add(hash: &mut Sha256, file: &File) -> io::Result<()> {
    let length = file.metadata()?.len();
    if length > LONGEST {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "too long for a recording"));
    }
    hash.update(length.to_le_bytes());
    // A file that grows meanwhile has an end all the same.
    let mut content = file.take(length);
    let mut buffer = vec![0; CHUNK];
    loop {
        match content.read(&mut buffer)? {
            0 => return Ok(()),
            read => hash.update(&buffer[..read]),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::symlink};

    use super::*;

    #[test]
    fn a_recording_is_known_by_its_content() {
        let folder = tempfile::tempdir().unwrap();
        let run = |name: &str, content: &str| {
            let path = folder.path().join(name);
            fs::create_dir_all(path.join("1")).unwrap();
            fs::write(path.join("1/events"), content).unwrap();
            Recording::new(path, Kind::Recording)
        };
        let (one, same, other) = (run("a", "x"), run("b", "x"), run("c", "y"));
        assert_eq!(one.digest().unwrap(), same.digest().unwrap(), "wherever it is");
        assert_ne!(one.digest().unwrap(), other.digest().unwrap());
    }

    #[test]
    fn links_and_devices_are_not_read() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::create_dir(at("run")).unwrap();
        fs::write(at("run/events"), "x").unwrap();
        fs::write(at("snapshot"), "x").unwrap();
        symlink("run", at("run-link")).unwrap();
        symlink("snapshot", at("snapshot-link")).unwrap();
        for (path, kind, is_read) in [
            (at("run"), Kind::Recording, true),
            (at("snapshot"), Kind::Snapshot, true),
            (at("run-link"), Kind::Recording, false),
            (at("snapshot-link"), Kind::Snapshot, false),
            (PathBuf::from("/dev/null"), Kind::Snapshot, false),
        ] {
            let recording = Recording::new(path, kind);
            assert_eq!(recording.digest().is_ok(), is_read, "{recording:?}");
            assert_eq!(recording.matter().is_ok(), is_read, "{recording:?}");
        }
        // A link in a recording is no file of it.
        let before = Recording::new(at("run"), Kind::Recording).digest().unwrap();
        symlink("../snapshot", at("run/link")).unwrap();
        assert_eq!(Recording::new(at("run"), Kind::Recording).digest().unwrap(), before);
    }
}
