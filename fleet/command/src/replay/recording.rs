//! A recording or a snapshot, known by its content.

use std::{
    fs::{self, File},
    io::{self, Read as _},
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
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

    /// What is judged.
    pub(super) fn matter(&self) -> io::Result<Matter> {
        let opened = open(&self.path)?;
        Ok(match self.kind {
            Kind::Recording => Matter::Recording(opened),
            Kind::Snapshot => Matter::Snapshot(opened),
        })
    }

    /// Of all bytes of all files.
    pub(super) fn digest(&self) -> io::Result<String> {
        let mut hash = Sha256::new();
        for path in files_of(&self.path)? {
            let name = path.strip_prefix(&self.path).unwrap_or(&path);
            let name = name.as_os_str().as_encoded_bytes();
            hash.update((name.len() as u64).to_le_bytes());
            hash.update(name);
            add(&mut hash, &path)?;
        }
        Ok(hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
    }
}

#[allow(clippy::disallowed_methods, reason = "whoever replays names what is replayed")]
fn open(path: &Path) -> io::Result<File> {
    File::open(path)
}

/// The file itself, or all files below a folder, in order. Links are none.
fn files_of(path: &Path) -> io::Result<Vec<PathBuf>> {
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let mut entries: Vec<fs::DirEntry> = fs::read_dir(path)?.collect::<io::Result<_>>()?;
    entries.sort_by_key(fs::DirEntry::file_name);
    let mut files = Vec::new();
    for entry in entries {
        let kind = entry.file_type()?;
        if kind.is_dir() {
            files.extend(files_of(&entry.path())?);
        } else if kind.is_file() {
            files.push(entry.path());
        }
    }
    Ok(files)
}

fn add(hash: &mut Sha256, path: &Path) -> io::Result<()> {
    let mut file = open(path)?;
    let length = file.metadata()?.len();
    if length > LONGEST {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "too long for a recording"));
    }
    hash.update(length.to_le_bytes());
    let mut buffer = vec![0; CHUNK];
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(()),
            read => hash.update(&buffer[..read]),
        }
    }
}

#[cfg(test)]
mod tests {
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
}
