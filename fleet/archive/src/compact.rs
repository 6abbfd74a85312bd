//! Compaction: the many small objects of a day become few. Whoever likes runs it, as often as they like, and two
//! at once too: what is removed was written elsewhere and read back before.

use jiff::civil::Date;
use whyoom_incident::{Incident, parquet};

use crate::{
    archive::{Archive, ArchiveError},
    key::{COMPACTED, folder_of},
};

/// Incidents of an object.
const MOST_ROWS: usize = 50_000;

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
        let inputs = self.objects_of(date).await?;
        for path in &inputs {
            self.knows_all_columns(path).await?;
        }
        let incidents = self.read_all(&inputs, parquet::read).await?;
        let outputs: Vec<(String, &[Incident])> =
            incidents.chunks(MOST_ROWS).map(|rows| (path_of(date, rows), rows)).collect();
        if inputs.len() <= outputs.len() {
            return Ok(Compacted::default());
        }
        for (path, rows) in &outputs {
            self.put_at(path, rows).await?;
        }
        // An object that compaction would write again under the same name stays.
        let stays = |path: &String| outputs.iter().any(|(output, _)| output == path);
        let done: Vec<String> = inputs.into_iter().filter(|path| !stays(path)).collect();
        self.remove(&done).await?;
        Ok(Compacted { read: done.len(), written: outputs.len(), incidents: incidents.len() })
    }
}

impl Archive {
    /// A newer agent may write columns that this version would drop.
    async fn knows_all_columns(&self, path: &str) -> Result<(), ArchiveError> {
        let unknown = parquet::unknown_columns(self.bytes_at(path).await?)
            .map_err(|error| ArchiveError::File { path: path.to_owned(), error })?;
        match unknown.first() {
            None => Ok(()),
            Some(column) => {
                Err(ArchiveError::Newer { path: path.to_owned(), column: column.clone() })
            }
        }
    }
}

/// The same incidents have the same name, whoever writes them.
fn path_of(date: Date, rows: &[Incident]) -> String {
    let ids: Vec<&str> = rows.iter().map(|one| one.id.as_str()).collect();
    format!("{}/{COMPACTED}-{}.parquet", folder_of(date), Incident::id_of(&ids))
}
