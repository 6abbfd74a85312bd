//! The sums that become a profile's samples, and what they are made by.

use whyoom_memory::{Category, Interface, LayerKind};
use whyoom_trace::StackId;

/// What a sample's values are, in order, with their units: Go's own names, which its tools know.
pub(super) const SAMPLE_TYPES: [(&str, &str); 4] = [
    ("alloc_objects", "count"),
    ("alloc_space", "bytes"),
    ("inuse_objects", "count"),
    ("inuse_space", "bytes"),
];

/// What sums are made by, in a space.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Key {
    pub(super) layer: LayerKind,
    pub(super) interface: Interface,
    pub(super) category: Category,
    pub(super) stack: StackId,
}

/// The values of a sample, in the order of [`SAMPLE_TYPES`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Sums {
    pub(super) alloc_objects: i64,
    pub(super) alloc_space: i64,
    pub(super) inuse_objects: i64,
    pub(super) inuse_space: i64,
}
