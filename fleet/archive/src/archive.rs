//! A store of incidents.

use std::{
    collections::{BTreeSet, HashSet},
    path::PathBuf,
    sync::Arc,
};

use bytes::Bytes;
use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use jiff::civil::Date;
use object_store::{
    ObjectStore, ObjectStoreExt as _, PutMode, PutOptions, PutPayload, aws::AmazonS3Builder,
    local::LocalFileSystem, path::Path, prefix::PrefixStore,
};
use tokio::runtime::{Builder, Runtime};
use whyoom_incident::{
    Incident,
    parquet::{self, FileError},
};

use crate::key::{FOLDER, Key, date_of, folder_of};

/// Objects that are read at the same time.
const AT_ONCE: usize = 32;
/// How often objects are listed again that were gone when they were read.
const ATTEMPTS: u32 = 5;
/// A longer object is none of ours.
const LONGEST: u64 = 1 << 30;
/// What is read back may be longer than what was written, by its metadata.
const READ_BACK: u64 = 64 << 10;

/// Why the archive could not be used.
#[derive(Debug, thiserror::Error)]
pub enum ArchiveError {
    /// The store refused, or could not be reached.
    #[error("the store: {0}")]
    Store(#[from] object_store::Error),
    /// An object is no file of incidents.
    #[error("{path}: {error}")]
    File {
        /// Its path.
        path: String,
        /// What is wrong with it.
        error: FileError,
    },
    /// Under the name that only this agent makes, there is something else.
    #[error("{path} holds something else than what was written")]
    Foreign {
        /// Its path.
        path: String,
    },
    /// An object has a column that this version does not know, and would drop.
    #[error("{path} has the column {column}, of a newer version: compact with that")]
    Newer {
        /// Its path.
        path: String,
        /// The column.
        column: String,
    },
    /// An object is too long.
    #[error("{path} is too long: {bytes} bytes")]
    TooLong {
        /// Its path.
        path: String,
        /// Its length.
        bytes: u64,
    },
    /// The address names no store.
    #[error("{url}: use s3://BUCKET/PREFIX or a folder: {why}")]
    Address {
        /// What was given.
        url: String,
        /// What is wrong with it.
        why: String,
    },
    /// The machine has no room for what the client needs.
    #[error("the client: {0}")]
    Client(#[from] std::io::Error),
}

/// How an object came to be there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Put {
    /// It was written now.
    Written,
    /// An earlier attempt had written it, whose answer was lost.
    WasThere,
}

/// A store of incidents.
#[derive(Debug)]
pub struct Archive {
    pub(crate) store: Arc<dyn ObjectStore>,
    runtime: Runtime,
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
            None => folder(url)?,
        };
        // One thread: whoever asks waits.
        let runtime = Builder::new_current_thread().enable_all().build()?;
        Ok(Self { store, runtime })
    }

    /// Opens a store to read it: a folder that is not there is a misspelt name, and not an empty archive.
    ///
    /// # Errors
    /// Also where the folder is not there.
    pub fn existing(url: &str) -> Result<Self, ArchiveError> {
        if !url.contains("://") && !std::path::Path::new(url).is_dir() {
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
        let put = self.create(path, bytes.clone()).await?;
        // A store may say yes and keep nothing, or half.
        let mut there = parquet::read(self.bytes_within(path, longest).await?);
        if there.is_err() {
            // Half of what was cut off on its way: only who writes these incidents makes this name.
            self.store.put(&Path::from(path), PutPayload::from(bytes)).await?;
            there = parquet::read(self.bytes_within(path, longest).await?);
        }
        match there.map_err(file)? == incidents {
            true => Ok(put),
            false => Err(ArchiveError::Foreign { path: path.to_owned() }),
        }
    }

    /// Writes an object where there is none.
    pub(crate) async fn create(&self, path: &str, bytes: Bytes) -> Result<Put, ArchiveError> {
        let options = PutOptions::from(PutMode::Create);
        let put = self.store.put_opts(&Path::from(path), PutPayload::from(bytes), options).await;
        match put {
            Ok(_) => Ok(Put::Written),
            // Written by an earlier attempt; a store says the second where two run into each other.
            Err(
                object_store::Error::AlreadyExists { .. }
                | object_store::Error::Precondition { .. },
            ) => Ok(Put::WasThere),
            Err(error) => Err(error.into()),
        }
    }

    pub(crate) async fn bytes_at(&self, path: &str) -> Result<Bytes, ArchiveError> {
        self.bytes_within(path, LONGEST).await
    }

    async fn bytes_within(&self, path: &str, longest: u64) -> Result<Bytes, ArchiveError> {
        let found = self.store.get(&Path::from(path)).await?;
        let bytes = found.meta.size;
        if bytes > longest {
            return Err(ArchiveError::TooLong { path: path.to_owned(), bytes });
        }
        Ok(found.bytes().await?)
    }

    /// The paths of the objects of some days, in order.
    ///
    /// # Errors
    /// Where the store cannot be reached.
    pub fn objects(&self, days: impl Fn(Date) -> bool) -> Result<Vec<String>, ArchiveError> {
        Ok(paths(self.wait(self.objects_below(FOLDER, days))?))
    }

    /// The days that have objects, in order.
    ///
    /// # Errors
    /// Where the store cannot be reached.
    pub fn days(&self) -> Result<BTreeSet<Date>, ArchiveError> {
        let objects = self.objects(|_| true)?;
        Ok(objects.iter().filter_map(|path| date_of(path)).collect())
    }

    /// The paths of the objects of a day and their lengths, in order.
    pub(crate) async fn objects_of(&self, date: Date) -> Result<Vec<(String, u64)>, ArchiveError> {
        self.objects_below(&folder_of(date), |found| found == date).await
    }

    async fn objects_below(
        &self,
        folder: &str,
        days: impl Fn(Date) -> bool,
    ) -> Result<Vec<(String, u64)>, ArchiveError> {
        let found: Vec<_> = self.store.list(Some(&Path::from(folder))).try_collect().await?;
        let all = found.into_iter().map(|object| (object.location.to_string(), object.size));
        let is_wanted = |(path, _): &(String, u64)| {
            path.ends_with(".parquet") && date_of(path).is_some_and(&days)
        };
        let mut all: Vec<(String, u64)> = all.filter(is_wanted).collect();
        all.sort();
        Ok(all)
    }

    /// All incidents of some days, each once, by time. Their documents, which take most of the memory, are empty.
    ///
    /// # Errors
    /// Where the store cannot be reached, or an object is no file of incidents.
    pub fn incidents(&self, days: impl Fn(Date) -> bool) -> Result<Vec<Incident>, ArchiveError> {
        self.wait(async {
            let mut attempt = 1;
            loop {
                let paths = paths(self.objects_below(FOLDER, &days).await?);
                match self.read_all(&paths, briefly).await {
                    // Compaction has put it into another object meanwhile.
                    Err(ArchiveError::Store(object_store::Error::NotFound { .. }))
                        if attempt < ATTEMPTS =>
                    {
                        attempt += 1;
                    }
                    read => return read,
                }
            }
        })
    }

    /// What some objects have, each incident once, by time.
    pub(crate) async fn read_all(
        &self,
        paths: &[String],
        read: impl Fn(&str, Bytes) -> Result<Vec<Incident>, ArchiveError>,
    ) -> Result<Vec<Incident>, ArchiveError> {
        let reads = stream::iter(paths).map(async |path| read(path, self.bytes_at(path).await?));
        let reads = reads.buffered(AT_ONCE);
        let all: Vec<Vec<Incident>> = reads.try_collect().await?;
        let mut seen = HashSet::new();
        let mut all: Vec<Incident> = all.into_iter().flatten().collect();
        all.retain(|one| seen.insert(one.id.clone()));
        all.sort_by(|one, other| (one.time, &one.id).cmp(&(other.time, &other.id)));
        Ok(all)
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

    /// Removes objects; one that is gone already is no error.
    pub(crate) async fn remove(&self, paths: &[String]) -> Result<(), ArchiveError> {
        for path in paths {
            match self.store.delete(&Path::from(path.as_str())).await {
                Ok(()) | Err(object_store::Error::NotFound { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }
}

fn briefly(path: &str, bytes: Bytes) -> Result<Vec<Incident>, ArchiveError> {
    let file = |error| ArchiveError::File { path: path.to_owned(), error };
    parquet::read_briefly(bytes).map_err(file)
}

fn paths(objects: Vec<(String, u64)>) -> Vec<String> {
    objects.into_iter().map(|(path, _)| path).collect()
}

fn address(url: &str, why: impl std::fmt::Display) -> ArchiveError {
    ArchiveError::Address { url: url.to_owned(), why: format!("{why}") }
}

fn folder(path: &str) -> Result<Arc<dyn ObjectStore>, ArchiveError> {
    let folder = PathBuf::from(path);
    std::fs::create_dir_all(&folder).map_err(|error| address(path, error))?;
    let store = LocalFileSystem::new_with_prefix(&folder).map_err(|error| address(path, error))?;
    // What is said to be there must survive a loss of power: its only other copy is removed then.
    Ok(Arc::new(store.with_automatic_cleanup(false).with_fsync(true)))
}

fn s3(url: &str, rest: &str) -> Result<Arc<dyn ObjectStore>, ArchiveError> {
    let (bucket, prefix) = rest.split_once('/').unwrap_or((rest, ""));
    let mut builder = AmazonS3Builder::from_env().with_bucket_name(bucket);
    // Without TLS only what does not leave the machine; elsewhere the site says so itself (AWS_ALLOW_HTTP).
    if std::env::var("AWS_ENDPOINT_URL").is_ok_and(|endpoint| is_loopback(&endpoint)) {
        builder = builder.with_allow_http(true);
    }
    let store = builder.build().map_err(|error| address(url, error))?;
    let prefix = prefix.trim_matches('/');
    Ok(match prefix.is_empty() {
        true => Arc::new(store),
        false => Arc::new(PrefixStore::new(store, prefix)),
    })
}

fn is_loopback(endpoint: &str) -> bool {
    let host = endpoint.strip_prefix("http://").unwrap_or_default();
    let host = host.split(['/', ':']).next().unwrap_or_default();
    host == "localhost" || host.parse::<std::net::Ipv4Addr>().is_ok_and(|one| one.is_loopback())
}
