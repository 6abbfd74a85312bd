//! Where objects are stored: an S3 bucket or a folder.

use std::sync::Arc;

use bytes::Bytes;
use futures_util::TryStreamExt as _;
use jiff::civil::Date;
use object_store::{ObjectStore, ObjectStoreExt as _, PutMode, PutOptions, PutPayload, path::Path};

use crate::{
    error::{ArchiveError, Put},
    folder::FolderStore,
    key::{EXTENSION, FOLDER, folder_of, is_object},
    listing::{Listing, Object},
};

/// Storage of the objects.
#[derive(Debug, Clone)]
pub(crate) enum Store {
    /// A bucket of S3.
    Bucket(Arc<dyn ObjectStore>),
    /// A folder.
    Folder(Arc<FolderStore>),
}

impl Store {
    /// Writes an object if there is none of this name.
    pub(crate) async fn create(&self, path: &str, bytes: Bytes) -> Result<Put, ArchiveError> {
        match self {
            Self::Bucket(store) => create_in_bucket(&**store, path, bytes).await,
            Self::Folder(folder) => {
                let path = path.to_owned();
                blocking(folder, move |folder| folder.create(&path, &bytes)).await
            }
        }
    }

    /// Writes an object in place of one that may be there.
    pub(crate) async fn replace(&self, path: &str, bytes: Bytes) -> Result<(), ArchiveError> {
        match self {
            Self::Bucket(store) => {
                store.put(&Path::from(path), PutPayload::from(bytes)).await?;
                Ok(())
            }
            Self::Folder(folder) => {
                let path = path.to_owned();
                blocking(folder, move |folder| folder.replace(&path, &bytes)).await
            }
        }
    }

    /// Reads an object of at most `longest` bytes.
    pub(crate) async fn read(&self, path: &str, longest: u64) -> Result<Bytes, ArchiveError> {
        match self {
            Self::Bucket(store) => {
                let found = store.get(&Path::from(path)).await?;
                let bytes = found.meta.size;
                if bytes > longest {
                    return Err(ArchiveError::TooLong { path: path.to_owned(), bytes });
                }
                Ok(found.bytes().await?)
            }
            Self::Folder(folder) => {
                let path = path.to_owned();
                blocking(folder, move |folder| folder.read(&path, longest)).await
            }
        }
    }

    /// Lists the objects of incidents: those of one day, or all.
    pub(crate) async fn list(&self, day: Option<Date>) -> Result<Listing, ArchiveError> {
        match self {
            Self::Bucket(store) => list_bucket(&**store, day).await,
            Self::Folder(folder) => blocking(folder, move |folder| folder.list(day)).await,
        }
    }

    /// Removes an object; one that is gone already is no error.
    pub(crate) async fn remove(&self, path: &str) -> Result<(), ArchiveError> {
        let removed = match self {
            Self::Bucket(store) => store.delete(&Path::from(path)).await.map_err(Into::into),
            Self::Folder(folder) => {
                let path = path.to_owned();
                blocking(folder, move |folder| folder.remove(&path)).await
            }
        };
        match removed {
            Err(error) if error.is_absent() => Ok(()),
            removed => removed,
        }
    }
}

/// Runs blocking I/O on tokio's blocking threads.
async fn blocking<T: Send + 'static>(
    folder: &Arc<FolderStore>,
    step: impl FnOnce(&FolderStore) -> Result<T, ArchiveError> + Send + 'static,
) -> Result<T, ArchiveError> {
    let folder = folder.clone();
    match tokio::task::spawn_blocking(move || step(&folder)).await {
        Ok(done) => done,
        Err(error) => Err(ArchiveError::Client(std::io::Error::other(error))),
    }
}

async fn create_in_bucket(
    store: &dyn ObjectStore,
    path: &str,
    bytes: Bytes,
) -> Result<Put, ArchiveError> {
    let options = PutOptions::from(PutMode::Create);
    match store.put_opts(&Path::from(path), PutPayload::from(bytes), options).await {
        Ok(_) => Ok(Put::Written),
        // An earlier attempt wrote it. Some stores answer 412 if two writers race.
        Err(
            object_store::Error::AlreadyExists { .. } | object_store::Error::Precondition { .. },
        ) => Ok(Put::WasThere),
        Err(error) => Err(error.into()),
    }
}

async fn list_bucket(store: &dyn ObjectStore, day: Option<Date>) -> Result<Listing, ArchiveError> {
    let folder = day.map_or_else(|| FOLDER.to_owned(), folder_of);
    let mut found = store.list(Some(&Path::from(folder)));
    let mut listing = Listing::default();
    while let Some(object) = found.try_next().await? {
        let path = object.location.to_string();
        if is_object(&path) {
            listing.objects.push(Object { path, bytes: object.size });
        } else if path.ends_with(EXTENSION) {
            listing.passed_over.push(path);
        }
    }
    Ok(listing)
}
