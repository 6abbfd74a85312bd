//! The archive: incidents as immutable Parquet objects, in any S3 store or in a folder.
//!
//! There is no coordinator and no server of ours. An object is written once, under a name that only its writer
//! makes, by a conditional PUT; whoever retries finds its own object there. Readers count an incident once,
//! whatever objects have it, so that compaction may stop anywhere.
//!
//! - [`Archive`] opens a store, puts and lists; `reading` reads the incidents of many objects;
//! - `folder` is an archive that is a folder, where no link is followed; `store` is that or a bucket;
//! - [`Key`] is the name of an object;
//! - `document` is what stands beside the incidents: the manifests and results of replays;
//! - `compact` merges the objects of a day; [`Archive::remove_before`] forgets old days.
#![cfg_attr(test, allow(clippy::disallowed_methods))]

mod archive;
mod compact;
mod document;
mod error;
mod folder;
mod key;
mod listing;
mod reading;
mod store;
#[cfg(test)]
mod tests;

pub use archive::Archive;
pub use compact::Compacted;
pub use error::{ArchiveError, Put};
pub use key::{Key, date_of};
