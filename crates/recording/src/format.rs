//! Sizes and places of the format. What they mean is told in the crate's documentation.

/// The version that is written. A reader refuses what is newer and reads everything older.
pub(crate) const VERSION: u32 = 1;

/// A damaged byte costs the block that it lies in, no more.
pub(crate) const BLOCK: usize = 16 << 10;
/// The end of a full block: what it holds and its checksum.
pub(crate) const TRAILER: usize = 8;

/// The header of a segment and of a piece of the tables.
pub(crate) const HEADER: usize = 128;

/// The identity of a part, and then its state.
pub(crate) const PART_IDENTITY: usize = 4096;
pub(crate) const PART_FILE: usize = 8192;

/// What kind of file it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Part,
    Tables,
    Events,
}

impl Kind {
    pub(crate) const fn magic(self) -> [u8; 8] {
        match self {
            Self::Part => *b"whyoomPT",
            Self::Tables => *b"whyoomTB",
            Self::Events => *b"whyoomEV",
        }
    }

    /// The end of the file's name.
    pub(crate) const fn suffix(self) -> &'static str {
        match self {
            Self::Part => ".part",
            Self::Tables => ".tables",
            Self::Events => ".events",
        }
    }
}

/// The largest piece of definitions in one record; strings are cut to it.
pub(crate) const LONGEST_DEFINITION: usize = 48 << 10;
/// Before each definition: tag and length, and its checksum.
pub(crate) const DEFINITION_HEADER: usize = 8;
