//! A store of incidents.

use std::{
    collections::BTreeSet,
    path::Path,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use bytes::Bytes;
use jiff::civil::Date;
use object_store::{ObjectStore, aws::AmazonS3Builder, prefix::PrefixStore};
use tokio::runtime::{Builder, Runtime};
use whyoom_files::below::Access;
use whyoom_incident::{Incident, parquet};

use crate::{
    error::{ArchiveError, Put},
    folder::FolderStore,
    key::{Key, date_of},
    listing::Object,
    store::Store,
};

/// A longer object is none of ours.
const LONGEST: u64 = 1 << 30;
/// What is read back may be longer than what was written, by its metadata.
const READ_BACK: u64 = 64 << 10;

/// A store of incidents.
#[derive(Debug)]
pub struct Archive {
    pub(crate) store: Store,
    runtime: Runtime,
    /// Paths of entries that listings have passed over.
    passed_over: Mutex<BTreeSet<String>>,
    /// Paths of objects that could not be read.
    damaged: Mutex<BTreeSet<String>>,
}

impl Archive {
    /// Opens a store: `s3://BUCKET/PREFIX`, with the variables that every client of S3 reads
    /// (`AWS_ACCESS_KEY_ID`, `AWS_ENDPOINT_URL`, …), or a folder, which is made.
    ///
    /// # Errors
    /// Where the address names no store.
    pub fn open(url: &str) -> Result<Self, ArchiveError> {
        let store = match url.strip_prefix("s3://") {
            Some(rest) => s3(url, rest)?,
            None if url.contains("://") => return Err(address(url, "an unknown kind of store")),
            None => folder(url, Access::Umask)?,
        };
        Self::of(store)
    }

    /// Opens a folder, which is made, for objects that only their owner may read.
    ///
    /// # Errors
    /// Returns an error if the folder cannot be made or opened.
    pub fn private(folder: &Path) -> Result<Self, ArchiveError> {
        let Some(path) = folder.to_str() else {
            return Err(address(&folder.display().to_string(), "a folder whose name is no text"));
        };
        Self::of(self::folder(path, Access::Private)?)
    }

    fn of(store: Store) -> Result<Self, ArchiveError> {
        // One thread: whoever asks waits.
        let runtime = Builder::new_current_thread().enable_all().build()?;
        Ok(Self { store, runtime, passed_over: Mutex::default(), damaged: Mutex::default() })
    }

    /// Opens a store to read it: a folder that is not there is a misspelt name, and not an empty archive.
    ///
    /// # Errors
    /// Also where the folder is not there.
    pub fn existing(url: &str) -> Result<Self, ArchiveError> {
        if !url.contains("://") && !Path::new(url).is_dir() {
            return Err(address(url, "there is no such folder"));
        }
        Self::open(url)
    }

    pub(crate) fn wait<F: Future>(&self, future: F) -> F::Output {
        self.runtime.block_on(future)
    }

    /// Writes incidents under a key, once. When it returns, they were read back: only then may the writer
    /// forget them.
    ///
    /// # Errors
    /// Where the store cannot be reached or does not give back what was written. Try again with the same key.
    pub fn put(&self, key: &Key, incidents: &[Incident]) -> Result<Put, ArchiveError> {
        self.wait(self.put_at(&key.path(), incidents))
    }

    pub(crate) async fn put_at(
        &self,
        path: &str,
        incidents: &[Incident],
    ) -> Result<Put, ArchiveError> {
        let file = |error| ArchiveError::File { path: path.to_owned(), error };
        let bytes = Bytes::from(parquet::write(incidents).map_err(file)?);
        // Another version may have written the same otherwise, but not as something far larger.
        let longest = 2 * bytes.len() as u64 + READ_BACK;
        let put = self.store.create(path, bytes.clone()).await?;
        // A store may say yes and keep nothing, or half.
        let mut there = parquet::read(self.store.read(path, longest).await?);
        if there.is_err() {
            // Half of what was cut off on its way: only who writes these incidents makes this name.
            self.store.replace(path, bytes).await?;
            there = parquet::read(self.store.read(path, longest).await?);
        }
        match there.map_err(file)? == incidents {
            true => Ok(put),
            false => Err(ArchiveError::Foreign { path: path.to_owned() }),
        }
    }

    pub(crate) async fn bytes_at(&self, path: &str) -> Result<Bytes, ArchiveError> {
        self.store.read(path, LONGEST).await
    }

    /// The paths of the objects of some days, in order.
    ///
    /// # Errors
    /// Where the store cannot be reached.
    pub fn objects(&self, days: impl Fn(Date) -> bool) -> Result<Vec<String>, ArchiveError> {
        Ok(paths(self.wait(self.objects_where(None, days))?))
    }

    /// The days that have objects, in order.
    ///
    /// # Errors
    /// Where the store cannot be reached.
    pub fn days(&self) -> Result<BTreeSet<Date>, ArchiveError> {
        let objects = self.objects(|_| true)?;
        Ok(objects.iter().filter_map(|path| date_of(path)).collect())
    }

    /// Returns the objects of a day, in order.
    pub(crate) async fn objects_of(&self, date: Date) -> Result<Vec<Object>, ArchiveError> {
        self.objects_where(Some(date), |_| true).await
    }

    /// Returns the objects of one day, or of all, as far as their days are wanted.
    pub(crate) async fn objects_where(
        &self,
        day: Option<Date>,
        days: impl Fn(Date) -> bool,
    ) -> Result<Vec<Object>, ArchiveError> {
        let listing = self.store.list(day).await?;
        let mut objects = listing.objects;
        objects.retain(|object| date_of(&object.path).is_some_and(&days));
        objects.sort();
        locked(&self.passed_over).extend(listing.passed_over);
        Ok(objects)
    }

    /// Returns the paths of the entries that were passed over so far: links, other things that are no regular files,
    /// and Parquet files that whyoom-fleet did not name. Their makers chose the names.
    pub fn passed_over(&self) -> Vec<String> {
        locked(&self.passed_over).iter().cloned().collect()
    }

    /// Returns the days of the entries that were passed over so far. These days may have more objects than were listed:
    /// a link in place of a day's folder hides all of them.
    pub fn days_passed_over(&self) -> BTreeSet<Date> {
        locked(&self.passed_over).iter().filter_map(|path| date_of(path)).collect()
    }

    /// Returns the paths of the objects that could not be read so far, in order: they are damaged, too long, closed to
    /// this user, or of another version. Their incidents were left out.
    pub fn damaged(&self) -> Vec<String> {
        locked(&self.damaged).iter().cloned().collect()
    }

    pub(crate) fn is_damaged(&self, path: &str) -> bool {
        locked(&self.damaged).contains(path)
    }

    pub(crate) fn add_damaged(&self, path: String) {
        locked(&self.damaged).insert(path);
    }

    /// The bytes of an object.
    ///
    /// # Errors
    /// Where the store cannot be reached.
    pub fn bytes(&self, path: &str) -> Result<Vec<u8>, ArchiveError> {
        Ok(self.wait(self.bytes_at(path))?.to_vec())
    }

    /// Removes the objects of the days before one. Returns how many those were.
    ///
    /// # Errors
    /// Where the store cannot be reached or refuses.
    pub fn remove_before(&self, first: Date) -> Result<usize, ArchiveError> {
        let old = self.objects(|date| date < first)?;
        self.wait(self.remove(&old))?;
        Ok(old.len())
    }

    /// Writes an object, which is a copy of another archive's, in place of one that may be there.
    ///
    /// # Errors
    /// Returns an error if the store cannot be reached or refuses.
    pub fn put_copy(&self, path: &str, bytes: Vec<u8>) -> Result<(), ArchiveError> {
        self.wait(self.store.replace(path, bytes.into()))
    }

    /// Removes objects; one that is gone already is no error.
    ///
    /// # Errors
    /// Returns an error if the store cannot be reached or refuses.
    pub fn remove_all(&self, paths: &[String]) -> Result<(), ArchiveError> {
        self.wait(self.remove(paths))
    }

    pub(crate) async fn remove(&self, paths: &[String]) -> Result<(), ArchiveError> {
        for path in paths {
            self.store.remove(path).await?;
        }
        Ok(())
    }
}

fn locked(paths: &Mutex<BTreeSet<String>>) -> MutexGuard<'_, BTreeSet<String>> {
    paths.lock().unwrap_or_else(PoisonError::into_inner)
}

fn paths(objects: Vec<Object>) -> Vec<String> {
    objects.into_iter().map(|object| object.path).collect()
}

fn address(url: &str, why: impl std::fmt::Display) -> ArchiveError {
    ArchiveError::Address { url: url.to_owned(), why: format!("{why}") }
}

fn folder(path: &str, access: Access) -> Result<Store, ArchiveError> {
    let folder = Path::new(path);
    std::fs::create_dir_all(folder).map_err(|error| address(path, error))?;
    let store = FolderStore::open(folder, access).map_err(|error| address(path, error))?;
    Ok(Store::Folder(Arc::new(store)))
}

fn s3(url: &str, rest: &str) -> Result<Store, ArchiveError> {
    let (bucket, prefix) = rest.split_once('/').unwrap_or((rest, ""));
    let mut builder = AmazonS3Builder::from_env().with_bucket_name(bucket);
    // Without TLS only what does not leave the machine; elsewhere the site says so itself (AWS_ALLOW_HTTP).
    if std::env::var("AWS_ENDPOINT_URL").is_ok_and(|endpoint| is_loopback(&endpoint)) {
        builder = builder.with_allow_http(true);
    }
    let store = builder.build().map_err(|error| address(url, error))?;
    let prefix = prefix.trim_matches('/');
    let store: Arc<dyn ObjectStore> = match prefix.is_empty() {
        true => Arc::new(store),
        false => Arc::new(PrefixStore::new(store, prefix)),
    };
    Ok(Store::Bucket(store))
}

fn is_loopback(endpoint: &str) -> bool {
    let host = endpoint.strip_prefix("http://").unwrap_or_default();
    let host = host.split(['/', ':']).next().unwrap_or_default();
    host == "localhost" || host.parse::<std::net::Ipv4Addr>().is_ok_and(|one| one.is_loopback())
}
