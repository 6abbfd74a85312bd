//! Where a piece of memory came from.

use std::fmt;

use serde::{Deserialize, Serialize};
use whyoom_trace::MemoryKind;

/// Where a piece of memory came from: a caching allocator, or the driver through one of its
/// interfaces.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub enum Interface {
    /// A block of a caching allocator.
    #[default]
    Allocator,
    /// Plain device memory.
    Device,
    /// Memory of a stream-ordered pool.
    StreamOrdered,
    /// An array for textures.
    Array,
    /// Managed memory.
    Managed,
    /// Page-locked host memory.
    Pinned,
    /// Host memory that was page-locked after the fact.
    Registered,
    /// Another process's memory, opened here.
    Imported,
    /// Physical memory behind a handle of the virtual-memory interface.
    Virtual,
}

impl Interface {
    /// The words for it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Allocator => "the allocator's blocks",
            Self::Device => "device memory",
            Self::StreamOrdered => "stream-ordered memory",
            Self::Array => "arrays",
            Self::Managed => "managed memory",
            Self::Pinned => "pinned memory",
            Self::Registered => "registered host memory",
            Self::Imported => "another process's memory",
            Self::Virtual => "virtual memory",
        }
    }
}

impl From<MemoryKind> for Interface {
    fn from(kind: MemoryKind) -> Self {
        match kind {
            MemoryKind::StreamOrdered => Self::StreamOrdered,
            MemoryKind::Array => Self::Array,
            MemoryKind::Managed => Self::Managed,
            MemoryKind::Pinned => Self::Pinned,
            MemoryKind::Registered => Self::Registered,
            MemoryKind::Imported => Self::Imported,
            // What a later version of the vocabulary adds is device memory until told otherwise.
            _ => Self::Device,
        }
    }
}

impl fmt::Display for Interface {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
