//! Compaction: the many small objects of a day become few. Whoever likes runs it, as often as they like, and two
//! at once too: what is removed was written elsewhere and read back before.

use bytes::Bytes;
use jiff::civil::Date;
use whyoom_incident::{Incident, parquet};

use crate::{
    archive::Archive,
    error::ArchiveError,
    key::{COMPACTED, folder_of},
    listing::{Object, groups},
    reading::MAX_HELD_BYTES,
};

/// Objects are merged up to so many bytes together: a day of a large cluster has more incidents than memory holds,
/// and these unfold to about ten times as much.
const MOST_BYTES: u64 = 32 << 20;

/// What compaction did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Compacted {
    /// Objects that were read and removed.
    pub read: usize,
    /// Objects that were written.
    pub written: usize,
    /// Incidents that are in them.
    pub incidents: usize,
}

impl Archive {
    /// Merges the objects of a day.
    ///
    /// # Errors
    /// Where the store cannot be reached, or somebody else compacts the same day: run it again.
    pub fn compact(&self, date: Date) -> Result<Compacted, ArchiveError> {
        self.wait(self.compact_day(date))
    }

    async fn compact_day(&self, date: Date) -> Result<Compacted, ArchiveError> {
        let mut all = Compacted::default();
        for group in groups(self.objects_of(date).await?, MOST_BYTES) {
            // One object alone stays as it is.
            if group.len() < 2 {
                continue;
            }
            let done = self.merge(date, group).await?;
            all.read += done.read;
            all.written += done.written;
            all.incidents += done.incidents;
        }
        Ok(all)
    }

    async fn merge(&self, date: Date, objects: Vec<Object>) -> Result<Compacted, ArchiveError> {
        let mut inputs: Vec<String> = objects.iter().map(|object| object.path.clone()).collect();
        let incidents = self.read_all(objects, whole, MAX_HELD_BYTES).await?;
        // A damaged object stays where it is: its writer may write it again.
        inputs.retain(|path| !self.is_damaged(path));
        if inputs.len() < 2 {
            return Ok(Compacted::default());
        }
        let output = path_of(date, &incidents);
        self.put_at(&output, &incidents).await?;
        // An object that compaction would write again under the same name stays.
        let done: Vec<String> = inputs.into_iter().filter(|path| *path != output).collect();
        self.remove(&done).await?;
        Ok(Compacted { read: done.len(), written: 1, incidents: incidents.len() })
    }
}

/// All of an object. A newer agent may write columns that this version would drop.
fn whole(path: &str, bytes: Bytes) -> Result<Vec<Incident>, ArchiveError> {
    let file = |error| ArchiveError::File { path: path.to_owned(), error };
    match parquet::unknown_columns(bytes.clone()).map_err(file)?.into_iter().next() {
        None => parquet::read(bytes).map_err(file),
        Some(column) => Err(ArchiveError::Newer { path: path.to_owned(), column }),
    }
}

/// The same incidents have the same name, whoever writes them.
fn path_of(date: Date, rows: &[Incident]) -> String {
    let ids: Vec<&str> = rows.iter().map(|one| one.id.as_str()).collect();
    format!("{}/{COMPACTED}-{}.parquet", folder_of(date), Incident::id_of(&ids))
}
