//! The format of a recording, version 1.
//!
//! All integers are little-endian. A *varint* is an unsigned integer in LEB128: seven bits per byte, lowest
//! bits first; the top bit of a byte is set if another byte follows; at most ten bytes. A *delta* is the
//! difference from the previous value of the same kind, modulo 2⁶⁴, as a zigzag varint: 2d if the difference
//! d is not negative, else 2|d| − 1. A *checksum* is CRC-32 (IEEE). Bytes that are not listed are 0.
//!
//! # Files
//!
//! | name | contents |
//! |---|---|
//! | `PID-START.part` | the process and its state; START is its start time in clock ticks since boot |
//! | `PID-START-N.tables` | definitions, the Nth piece from 0; a new piece starts when one is full |
//! | `PID-START-N.events` | events, the Nth segment from 0; N only increases, and ring mode deletes the oldest segments |
//!
//! After an `exec`, the new program has `PID-START-EXECn` instead of `PID-START`, with n counted from 1.
//!
//! # `.part`: 8,192 bytes
//!
//! | offset | bytes | contents |
//! |---|---|---|
//! | 0 | 8 | `whyoomPT`; written last: while it is 0, the file is empty |
//! | 8 | 4 | version |
//! | 12 | 4 | checksum of bytes 16 to 4096 |
//! | 16 | 4, 4 | PID, parent PID |
//! | 24 | 8 | start time of the process in clock ticks |
//! | 32 | 8 | when the part was created: CLOCK_MONOTONIC in nanoseconds, as all times in a recording |
//! | 40 | 8 | offset to add to a time to get Unix time, signed |
//! | 48 | 16 | the machine's boot id: parts with the same boot id share a clock |
//! | 64 | 4, 4 | length of a segment; length of the command line |
//! | 72 | 8 | ring mode: the maximum size of all segments in bytes; 0 if there is no limit |
//! | 128 | | the command line: arguments, each followed by a 0 byte, truncated at offset 4096 |
//! | 4096 | 8 | number of events so far; threads add theirs one block at a time |
//! | 4104 | 4 | number of failed allocations: a futex word |
//! | 4112 | 16 × 64 | for each device: allocated, reserved, driver, pinned, peak allocated, peak reserved, live (8 bytes each) |
//! | 5136 | 4 | 1 if the process has exited normally |
//! | 5140 | 4, 4 | number of segments created; number of table pieces created |
//! | 5148 | 4 | length of the reason why recording stopped; above 256 while it is being written |
//! | 5152 | 8, 8, 8 | ring mode: number of dropped segments, number of events in them, time of the latest of these events |
//! | 5176 | 256 | the reason why recording stopped |
//! | 5440 | 8 | ring mode: number of events that have a stand-in for their stack, because definitions have reached their limit: a quarter of that of the segments, at least 1 MiB |
//!
//! # `.events` and `.tables`: a header of 128 bytes
//!
//! | offset | bytes | contents |
//! |---|---|---|
//! | 0 | 8 | `whyoomEV` or `whyoomTB`; written last: while it is 0, the file is empty |
//! | 8 | 4 | version |
//! | 12 | 4 | checksum of bytes 16 to 64 |
//! | 16 | 4, 4 | PID; N |
//! | 24 | 8 | start time of the process in clock ticks |
//! | 32 | 8 | the time of the first event; 0 in tables |
//! | 40 | 8 | the length with which the file was created |
//! | 48 | 8 | 1 + the N of the previous segment of the same lease; 0 if there is none |
//! | 56 | 8 | offset to add to a time to get Unix time |
//! | 64 | 8 | `committed`: the offset of the end of the last record; stored (release) after the record |
//! | 72 | 4 | 1 if the writer has finished; only then the following fields are valid, and the file may be truncated to `committed` |
//! | 76 | 4 | checksum of the records of the last block |
//! | 80 | 8 | number of records |
//! | 88 | 8 | the time of the latest event |
//!
//! # Events
//!
//! A segment consists of blocks of 16 KiB; the header is part of the first block. Records do not cross
//! blocks. All delta-encoded values start at 0 in each block, so every block can be read independently. A
//! complete block ends with 8 bytes: the checksum of its records (4), their length (2) and their number (2).
//! The last block ends at `committed`.
//!
//! A record consists of the tag of the action (1 byte, never 0), flags (1 byte), the nanoseconds since the
//! previous record as a varint, the fields that the flags select, and the fields of the action. The flags
//! select thread (1), device (2), context (4), stream (8), pool (16), stack (32) and result (64), each as a
//! varint, the result as its 32 bits, unsigned. Flag 128 means that the time went back. A field that is not
//! written has the value of the previous record, except for the result, which is 0.
//!
//! In the fields of an action, addresses and handles are deltas, each kind from the previous value of its
//! kind; amounts, ids and PIDs are varints; choices are 1 byte, the index in the list of `trace`. The tags and
//! fields are defined in `record/action.rs`, the choices in `record/fields.rs`.
//!
//! # Definitions
//!
//! Definitions start at offset 128, each at a multiple of 8: the tag (1 byte), the length of the body (3), the
//! checksum of these four bytes and the body (4), and the body. Read all pieces, in order, before the first
//! event.
//!
//! | tag | body |
//! |---|---|
//! | 1 string | id, then the text, up to the end of the body |
//! | 2 frame | id, function, file (both strings), line |
//! | 3 stack | id, then frames, innermost first: either 0 and the delta from the previous address, or 1 + the id of a frame |
//! | 4 module | start, end, bias, path (a string), then the build id, up to the end of the body; for the stacks that follow, it replaces modules that it overlaps |
//! | 5 pool | id, the two numbers of the allocator's pool id |

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
/// Bytes of a part's own file, which ends with [`PART_EXTENSION`].
pub const PART_FILE_BYTES: u64 = PART_FILE as u64;
/// The end of the name of a part's own file.
pub const PART_EXTENSION: &str = Kind::Part.suffix();
/// The ends of the names of all files that the recorder writes.
pub const FILE_EXTENSIONS: [&str; 3] =
    [PART_EXTENSION, Kind::Tables.suffix(), Kind::Events.suffix()];

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
