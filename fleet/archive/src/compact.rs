//! Compaction: the many small objects of a day become few. Whoever likes runs it, as often as they like, and two
//! at once too: what is removed was written elsewhere and read back before.

use bytes::Bytes;
use jiff::civil::Date;
use whyoom_incident::{Incident, parquet};

use crate::{
    archive::Archive,
    error::ArchiveError,
    key::{COMPACTED, folder_of},
    listing::Object,
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
            let done = self.merge(date, group).await?;
            all.read += done.read;
            all.written += done.written;
            all.incidents += done.incidents;
        }
        Ok(all)
    }

    async fn merge(&self, date: Date, inputs: Vec<String>) -> Result<Compacted, ArchiveError> {
        let incidents = self.read_all(&inputs, whole).await?;
        let output = path_of(date, &incidents);
        self.put_at(&output, &incidents).await?;
        // An object that compaction would write again under the same name stays.
        let done: Vec<String> = inputs.into_iter().filter(|path| *path != output).collect();
        self.remove(&done).await?;
        Ok(Compacted { read: done.len(), written: 1, incidents: incidents.len() })
    }
}

/// Objects that are merged with each other: neighbours, of so many bytes together. One alone stays as it is.
fn groups(objects: Vec<Object>, most: u64) -> Vec<Vec<String>> {
    let (mut all, mut bytes) = (vec![Vec::new()], 0);
    for Object { path, bytes: size } in objects {
        if bytes + size > most {
            all.push(Vec::new());
            bytes = 0;
        }
        bytes += size;
        all.last_mut().into_iter().for_each(|group| group.push(path.clone()));
    }
    all.retain(|group| group.len() > 1);
    all
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_are_of_neighbours_and_bounded() {
        let objects = |sizes: &[u64]| {
            let objects = sizes.iter().enumerate();
            objects.map(|(at, size)| Object { path: at.to_string(), bytes: *size }).collect()
        };
        let grouped = |sizes: &[u64]| groups(objects(sizes), 10);
        assert_eq!(grouped(&[4, 4, 4, 4]), [["0", "1"], ["2", "3"]]);
        assert_eq!(grouped(&[9, 9, 1]), [["1", "2"]]);
        assert!(grouped(&[20, 8, 8]).is_empty(), "there is nothing to gain");
        assert!(grouped(&[]).is_empty());
    }
}
