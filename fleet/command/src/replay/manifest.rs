//! What is to be replayed.

use std::{collections::BTreeSet, path::PathBuf};

use anyhow::{Context as _, Result, bail};
use serde::{Deserialize, Serialize};
use whyoom_archive::Archive;
use whyoom_incident::Incident;
use whyoom_logs::{Pattern, Wanted};

use super::recording::{Kind, Recording};

const SCHEMA: &str = "whyoom.fleet-manifest";
const VERSION: u32 = 1;

/// What is to be replayed, under which settings, by which version.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Manifest {
    schema: String,
    version: u32,
    /// What `whyoom --version` says.
    pub(super) whyoom: String,
    /// Tried beside the allocators that whyoom knows.
    pub(super) settings: Vec<String>,
    pub(super) entries: Vec<Entry>,
}

/// One recording or snapshot.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Entry {
    /// The name of its result: the same recording under the same settings by the same version has the same.
    pub(super) key: String,
    /// Of its content, now.
    pub(super) digest: String,
    pub(super) recording: Recording,
}

impl Manifest {
    /// Of all that the patterns name; a copy of what is there already counts once.
    pub(super) fn of(patterns: &[PathBuf], settings: Vec<String>, whyoom: String) -> Result<Self> {
        let mut keys = BTreeSet::new();
        let mut entries = Vec::new();
        for recording in named(patterns)? {
            let digest =
                recording.digest().with_context(|| recording.path.display().to_string())?;
            let mut parts = vec![digest.as_str(), whyoom.as_str()];
            parts.extend(settings.iter().map(String::as_str));
            let key = Incident::id_of(&parts);
            if keys.insert(key.clone()) {
                entries.push(Entry { key, digest, recording });
            }
        }
        if entries.is_empty() {
            bail!("the patterns name no recording and no snapshot");
        }
        Ok(Self { schema: SCHEMA.into(), version: VERSION, whyoom, settings, entries })
    }

    fn path(name: &str) -> String {
        format!("replays/manifests/{name}.json")
    }

    /// The same manifest has the same name.
    pub(super) fn put(&self, archive: &Archive) -> Result<String> {
        let bytes = serde_json::to_vec(self)?;
        let name = name_of(&bytes);
        archive.put_document(&Self::path(&name), &bytes)?;
        Ok(name)
    }

    /// Reads the manifest of a name. Returns an error if its content has another name: whoever may write the archive
    /// could choose what is replayed.
    pub(super) fn get(archive: &Archive, name: &str) -> Result<Self> {
        let bytes = archive.document(&Self::path(name))?;
        let bytes = bytes.with_context(|| format!("the archive has no manifest {name}"))?;
        if name_of(&bytes) != name {
            bail!("the manifest {name} is not what --plan wrote: run --plan again");
        }
        let manifest: Self = serde_json::from_slice(&bytes)?;
        if (manifest.schema.as_str(), manifest.version) != (SCHEMA, VERSION) {
            bail!("{} {} is not known to this version", manifest.schema, manifest.version);
        }
        Ok(manifest)
    }
}

/// Returns the name of a manifest: the first 128 bits of a SHA-256 hash of its content.
fn name_of(bytes: &[u8]) -> String {
    Incident::id_of(&[&String::from_utf8_lossy(bytes)])
}

fn named(patterns: &[PathBuf]) -> Result<Vec<Recording>> {
    let mut all = Vec::new();
    for path in patterns {
        let absolute = std::path::absolute(path)?;
        let pattern = Pattern::new(&absolute).with_context(|| path.display().to_string())?;
        for (wanted, kind) in [(Wanted::Folders, Kind::Recording), (Wanted::Files, Kind::Snapshot)]
        {
            let named = pattern.entries(wanted)?;
            if !named.is_whole {
                bail!("{}: a folder has too many entries; name fewer", path.display());
            }
            all.extend(named.entries.iter().map(|entry| Recording::new(entry.path(), kind)));
        }
    }
    all.sort_by(|one, other| one.path.cmp(&other.path));
    Ok(all)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_manifest_that_was_changed_is_refused() {
        let outer = tempfile::tempdir().unwrap();
        let at = |name: &str| outer.path().join(name);
        fs::write(at("snapshot"), "x").unwrap();
        let archive = Archive::open(at("archive").to_str().unwrap()).unwrap();
        let put = |version: &str| {
            let manifest = Manifest::of(&[at("snap*")], Vec::new(), version.to_owned()).unwrap();
            manifest.put(&archive).unwrap()
        };
        let (name, other) = (put("whyoom 1"), put("whyoom 2"));
        assert_eq!(Manifest::get(&archive, &name).unwrap().whyoom, "whyoom 1");
        let file = |name: &str| at("archive").join(Manifest::path(name));
        fs::copy(file(&other), file(&name)).unwrap();
        let refused = Manifest::get(&archive, &name).unwrap_err().to_string();
        assert!(refused.contains("is not what --plan wrote"), "{refused}");
        assert_eq!(Manifest::get(&archive, &other).unwrap().whyoom, "whyoom 2");
    }
}
