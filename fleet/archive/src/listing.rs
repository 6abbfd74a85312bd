//! The objects that an archive lists.

/// An object that was listed.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Object {
    /// Path below the archive.
    pub(crate) path: String,
    /// Length in bytes.
    pub(crate) bytes: u64,
}

/// The objects of incidents, and the entries that are not read.
#[derive(Debug, Default)]
pub(crate) struct Listing {
    /// Objects that whyoom-fleet named, in no order.
    pub(crate) objects: Vec<Object>,
    /// Paths of entries that are not read: links, other things that are no regular files, and Parquet files that
    /// whyoom-fleet did not name.
    pub(crate) passed_over: Vec<String>,
}
