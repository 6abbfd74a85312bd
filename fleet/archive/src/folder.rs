//! An archive that is a folder. Agents of all nodes may write there, so nothing in it is believed: what is read,
//! written or removed is a regular file below the folder, reached without a link from the folder's descriptor.

use std::{io, path::Path};

use bytes::Bytes;
use jiff::civil::Date;
use whyoom_files::{
    below::{Access, Entry, EntryKind, OpenFolder, is_refused},
    untrusted,
};

use crate::{
    error::{ArchiveError, Put},
    key::{EXTENSION, FOLDER, date_of_folder, is_object},
    listing::{Listing, Object},
};

/// The folder of an archive.
#[derive(Debug)]
pub(crate) struct FolderStore {
    root: OpenFolder,
}

impl FolderStore {
    /// Opens the folder. New objects have the given permissions.
    pub(crate) fn open(path: &Path, access: Access) -> io::Result<Self> {
        Ok(Self { root: OpenFolder::open(path, access)? })
    }

    /// Writes an object if there is none of this name. The object is durable on return, because the caller then deletes
    /// its only other copy.
    pub(crate) fn create(&self, path: &str, bytes: &[u8]) -> Result<Put, ArchiveError> {
        match self.root.create(Path::new(path), bytes) {
            Ok(()) => Ok(Put::Written),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(Put::WasThere),
            Err(error) => Err(failed(path, error)),
        }
    }

    /// Writes an object in place of one that may be there.
    pub(crate) fn replace(&self, path: &str, bytes: &[u8]) -> Result<(), ArchiveError> {
        self.root.replace(Path::new(path), bytes).map_err(|error| failed(path, error))
    }

    /// Reads an object of at most `longest` bytes.
    pub(crate) fn read(&self, path: &str, longest: u64) -> Result<Bytes, ArchiveError> {
        let file = self.root.open_file(Path::new(path)).map_err(|error| failed(path, error))?;
        let bytes = file.metadata().map_err(|error| failed(path, error))?.len();
        if bytes > longest {
            return Err(ArchiveError::TooLong { path: path.to_owned(), bytes });
        }
        // A sparse file costs its writer nothing; do not read it into memory.
        let readable_bytes = untrusted::paid_length(&file, bytes);
        if readable_bytes < bytes {
            return Err(failed(path, io::Error::new(io::ErrorKind::InvalidData, "mostly a hole")));
        }
        let read = untrusted::whole(&file, longest).map_err(|error| failed(path, error))?;
        Ok(Bytes::from(read))
    }

    /// Lists the objects of incidents, those of one day or all: two levels, `incidents/date=YYYY-MM-DD/NAME.parquet`.
    pub(crate) fn list(&self, wanted: Option<Date>) -> Result<Listing, ArchiveError> {
        let mut listing = Listing::default();
        let days = match self.root.entries(Path::new(FOLDER)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(listing),
            days => days.map_err(|error| failed(FOLDER, error))?,
        };
        for day in days {
            let path = Path::new(FOLDER).join(&day.name);
            let date = day.name.to_str().and_then(date_of_folder);
            let is_wanted = date.is_some() && wanted.is_none_or(|wanted| date == Some(wanted));
            match day.kind {
                EntryKind::Folder if is_wanted => self.list_day(&path, &mut listing)?,
                EntryKind::Other => listing.passed_over.push(path.display().to_string()),
                // In place of a day's folder.
                EntryKind::File { .. } if is_wanted => {
                    listing.passed_over.push(path.display().to_string());
                }
                // It is another day, or nothing of ours.
                EntryKind::Folder | EntryKind::File { .. } => {}
            }
        }
        Ok(listing)
    }

    fn list_day(&self, day: &Path, listing: &mut Listing) -> Result<(), ArchiveError> {
        let entries = match self.root.entries(day) {
            Ok(entries) => entries,
            Err(error) if is_gone_or_replaced(&error) => {
                listing.passed_over.push(day.display().to_string());
                return Ok(());
            }
            Err(error) => return Err(failed(&day.display().to_string(), error)),
        };
        for entry in entries {
            add_entry(&day.join(&entry.name), &entry, listing);
        }
        Ok(())
    }

    /// Removes an object.
    pub(crate) fn remove(&self, path: &str) -> Result<(), ArchiveError> {
        self.root.remove(Path::new(path)).map_err(|error| failed(path, error))
    }
}

fn add_entry(path: &Path, entry: &Entry, listing: &mut Listing) {
    let text = path.display().to_string();
    let is_parquet = text.ends_with(EXTENSION);
    match entry.kind {
        EntryKind::File { bytes } if path.to_str().is_some_and(is_object) => {
            listing.objects.push(Object { path: text, bytes });
        }
        EntryKind::File { .. } if is_parquet => listing.passed_over.push(text),
        EntryKind::Other => listing.passed_over.push(text),
        EntryKind::Folder if is_parquet => listing.passed_over.push(text),
        // Half-written files have other endings.
        EntryKind::File { .. } | EntryKind::Folder => {}
    }
}

/// Returns true if a folder that was listed a moment ago is gone, or a file or a link has its name now. Other errors,
/// such as EIO and EMFILE, say nothing about the folder.
fn is_gone_or_replaced(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
        || is_refused(error)
}

fn failed(path: &str, error: io::Error) -> ArchiveError {
    ArchiveError::Folder { path: path.to_owned(), error }
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::symlink};

    use super::*;

    #[test]
    fn only_a_day_that_is_gone_or_replaced_is_passed_over() {
        let folder = tempfile::tempdir().expect("a folder");
        let day = |name: &str| folder.path().join(name);
        fs::create_dir(day("day")).expect("a folder");
        fs::write(day("file"), "").expect("a file");
        symlink("day", day("link")).expect("a link");
        let store = FolderStore::open(folder.path(), Access::Umask).expect("it is opened");
        let mut listing = Listing::default();
        for name in ["day", "gone", "file", "link"] {
            store.list_day(Path::new(name), &mut listing).expect("it is listed");
        }
        assert_eq!(listing.passed_over, ["gone", "file", "link"]);
        // ENAMETOOLONG stands for all other errors: any user, also root, can cause it.
        let too_long = store.list_day(Path::new(&"d".repeat(256)), &mut listing);
        assert!(matches!(too_long, Err(ArchiveError::Folder { .. })), "{too_long:?}");
        assert_eq!(listing.passed_over.len(), 3);
    }
}
