//! The format of a recording, version 1.
//!
//! All numbers are little endian. A *number* in a record takes seven bits a byte, the lowest first; the
//! top bit of a byte says that another follows; at most ten bytes. A *step* is the way from the last
//! such value to this one, modulo 2⁶⁴, as a number: twice the way where it leads up, else twice its
//! length less one. A *checksum* is CRC-32 (IEEE). What is not named here is 0.
//!
//! # Files
//!
//! | name | what |
//! |---|---|
//! | `PID-START.part` | the process and its state; START is its start in clock ticks after the machine's |
//! | `PID-START-N.tables` | definitions, the Nth piece from 0; the next begins when one is full |
//! | `PID-START-N.events` | events, the Nth segment from 0; numbers go up, and in ring mode the low ones go |
//!
//! A program that `exec` put in the place of another has `PID-START-EXECn` in place of `PID-START`,
//! counted from 1.
//!
//! # `.part`: 8,192 bytes
//!
//! | at | bytes | what |
//! |---|---|---|
//! | 0 | 8 | `whyoomPT`; written last: while it is 0, nothing is there |
//! | 8 | 4 | version |
//! | 12 | 4 | checksum of the bytes from 16 to 4096 |
//! | 16 | 4, 4 | process, its parent |
//! | 24 | 8 | its start in clock ticks |
//! | 32 | 8 | when the part was made: CLOCK_MONOTONIC in nanoseconds, as all times in a recording |
//! | 40 | 8 | what to add to a time for Unix time, signed |
//! | 48 | 16 | the machine's boot id: parts with the same one share a clock |
//! | 64 | 4, 4 | length of a segment; length of the command line |
//! | 72 | 8 | ring mode: the most bytes of segments; 0 for no limit |
//! | 128 | | the command line: arguments, each with a 0 behind it, cut at 4096 |
//! | 4096 | 8 | events so far; threads add theirs a block at a time |
//! | 4104 | 4 | failed allocations: a futex word |
//! | 4112 | 16 × 64 | of each device: allocated, reserved, driver, pinned, most allocated, most reserved, live (8 bytes each) |
//! | 5136 | 4 | 1 once the process has ended in order |
//! | 5140 | 4, 4 | segments made; pieces made |
//! | 5148 | 4 | length of the reason why recording stopped; above 256 while it is being written |
//! | 5152 | 8, 8, 8 | ring mode: segments dropped, events in them, the youngest's time |
//! | 5176 | 256 | the reason why recording stopped |
//!
//! # `.events` and `.tables`: a header of 128 bytes
//!
//! | at | bytes | what |
//! |---|---|---|
//! | 0 | 8 | `whyoomEV` or `whyoomTB`; written last: while it is 0, nothing is there |
//! | 8 | 4 | version |
//! | 12 | 4 | checksum of the bytes from 16 to 64 |
//! | 16 | 4, 4 | process; N |
//! | 24 | 8 | the process's start in clock ticks |
//! | 32 | 8 | the time of the first event; 0 in tables |
//! | 40 | 8 | the length that the file was made with |
//! | 48 | 8 | one more than the N of the segment that the same lease filled before; 0 for none |
//! | 56 | 8 | what to add to a time for Unix time |
//! | 64 | 8 | committed: the place behind the last record; stored (release) after the record |
//! | 72 | 4 | 1 once the writer is done; what follows counts then, and the file may be cut to `committed` |
//! | 76 | 4 | checksum of the records of the last block |
//! | 80 | 8 | records |
//! | 88 | 8 | the youngest event's time |
//!
//! # Events
//!
//! A segment is cut into blocks of 16 KiB, the header being part of the first. Records do not cross
//! blocks. At the start of each block everything that records tell by difference is 0, so every block
//! is read by itself. A block that the writer has left ends with 8 bytes: the checksum of its records
//! (4), their length (2), their number (2). Of the last block `committed` tells the end.
//!
//! A record: the tag of the action (1 byte, never 0; the tags and fields are listed in
//! `record/action.rs`), flags (1 byte), the nanoseconds since the record before as a number, then, each
//! if its flag is set: thread (1), device (2), context (4), stream (8), pool (16), stack (32), result
//! (64), as numbers, the result's bits as 32 without a sign. Flag 128: time went back. What is not
//! written is as in the record before; a result is 0. Then the action's fields: addresses and handles
//! are steps, each kind from the last of its kind; amounts, ids and process numbers are numbers; choices
//! are 1 byte, their place in `trace`'s list (`record/fields.rs`).
//!
//! # Definitions
//!
//! From byte 128 on, each at a multiple of 8: the tag (1 byte), the body's length (3), the checksum of
//! these four bytes and the body (4), the body. Pieces are read in order, all of them before the first
//! event.
//!
//! | tag | body |
//! |---|---|
//! | 1 string | id, the text to the end |
//! | 2 frame | id, function, file (both strings), line |
//! | 3 stack | id, then frames, innermost first: 0 and the step from the last address, or one more than a frame's id |
//! | 4 module | start, end, bias, path (a string), the build id to the end; it replaces what it overlaps, for the stacks that follow |
//! | 5 pool | id, the two numbers that its allocator names it by |

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
