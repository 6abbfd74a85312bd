//! Incidents of many objects, read within a limit of memory.

use std::collections::HashSet;

use bytes::Bytes;
use futures_util::{StreamExt as _, stream};
use jiff::civil::Date;
use whyoom_incident::{Incident, parquet};

use crate::{
    archive::Archive,
    error::ArchiveError,
    listing::{Object, groups},
};

/// Maximum number of objects that are fetched at the same time. Chosen, not measured.
const AT_ONCE: usize = 32;
/// Maximum number of times that objects are listed, if some are gone when they are fetched. Chosen, not measured.
const ATTEMPTS: u32 = 5;
/// Maximum length of the objects that are fetched at the same time, and so of one object, in bytes. Chosen, not
/// measured: compaction makes objects of about 32 MiB.
const MAX_FETCHED_BYTES: u64 = 256 << 20;
/// Memory that the incidents of all objects may take in any case, in bytes. Chosen, not measured: an incident takes about
/// 1 KB without its documents (docs/dev/scale.md), so these are two million.
pub(crate) const MAX_HELD_BYTES: u64 = 2 << 30;

impl Archive {
    /// Returns all incidents of some days, each once, by time. Their documents, which take most of the memory, are
    /// empty. Objects that cannot be read are left out, and [`Archive::damaged`] names them.
    ///
    /// # Errors
    /// Returns an error if the store cannot be reached, or if the incidents take more memory than 2 GiB and than the
    /// objects that were read have bytes.
    pub fn incidents(&self, days: impl Fn(Date) -> bool) -> Result<Vec<Incident>, ArchiveError> {
        self.wait(async {
            let mut attempt = 1;
            loop {
                let objects = self.objects_where(None, &days).await?;
                match self.read_all(objects, read_briefly, MAX_HELD_BYTES).await {
                    // Compaction has put it into another object meanwhile.
                    Err(error) if error.is_absent() && attempt < ATTEMPTS => attempt += 1,
                    read => return read,
                }
            }
        })
    }

    /// Returns the incidents of some objects, each once, by time. Objects that cannot be read are left out, and
    /// [`Archive::damaged`] names them.
    pub(crate) async fn read_all(
        &self,
        objects: Vec<Object>,
        read: impl Fn(&str, Bytes) -> Result<Vec<Incident>, ArchiveError>,
        max_held_bytes: u64,
    ) -> Result<Vec<Incident>, ArchiveError> {
        let mut all: Vec<Incident> = Vec::new();
        let (mut seen, mut held_bytes, mut fetched_bytes) = (HashSet::new(), 0, 0_u64);
        for group in groups(objects, MAX_FETCHED_BYTES) {
            let fetched = stream::iter(group).map(async |object| {
                let bytes = self.fetch(&object).await;
                (object.path, bytes)
            });
            let mut fetched = fetched.buffered(AT_ONCE);
            while let Some((path, bytes)) = fetched.next().await {
                if let Ok(bytes) = &bytes {
                    fetched_bytes += bytes.len() as u64;
                }
                let incidents = match bytes.and_then(|bytes| read(&path, bytes)) {
                    Err(error) if error.is_damage() => {
                        self.add_damaged(path);
                        continue;
                    }
                    incidents => incidents?,
                };
                for incident in incidents {
                    if seen.insert(incident.id.clone()) {
                        held_bytes += incident.memory_bytes();
                        all.push(incident);
                    }
                }
                // In proportion to what was read: small objects must not become large ones.
                let most = max_held_bytes.max(fetched_bytes);
                if held_bytes > most {
                    return Err(ArchiveError::TooMuch { path, most });
                }
            }
        }
        // Each id is there once, so the order is the same as that of a stable sort, which would take more memory.
        all.sort_unstable_by(|one, other| (one.time, &one.id).cmp(&(other.time, &other.id)));
        Ok(all)
    }

    /// Returns the bytes of an object. An object that has become longer since it was listed is refused: its group was
    /// made by its length.
    async fn fetch(&self, object: &Object) -> Result<Bytes, ArchiveError> {
        self.store.read(&object.path, object.bytes.min(MAX_FETCHED_BYTES)).await
    }
}

/// Returns the incidents of an object, without their documents.
pub(crate) fn read_briefly(path: &str, bytes: Bytes) -> Result<Vec<Incident>, ArchiveError> {
    let file = |error| ArchiveError::File { path: path.to_owned(), error };
    parquet::read_briefly(bytes).map_err(file)
}
