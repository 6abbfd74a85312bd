//! The header of a segment or of a piece of the tables: who wrote it, and how far.

use std::sync::atomic::{AtomicU32, AtomicU64};

use crate::format::{HEADER, Kind, VERSION};

/// The first 64 bytes, which never change once they are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Identity {
    pub(crate) pid: u32,
    pub(crate) number: u32,
    pub(crate) started: u64,
    /// No event in the segment is older.
    pub(crate) first_time: u64,
    /// How long the file was made.
    pub(crate) bytes: u64,
    /// The segment that the same thread filled before this one.
    pub(crate) after: Option<u32>,
    /// What turns the recording's clock into Unix time, should the part's own file be lost.
    pub(crate) unix_offset: i64,
}

const IDENTITY: usize = 64;
/// What the checksum of the identity covers.
const CHECKED: std::ops::Range<usize> = 16..IDENTITY;

/// Why bytes are not the identity of a file of ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wrong {
    /// No magic, which is written last: nothing was written yet, or it was lost.
    Blank,
    /// A later version of the format.
    Newer(u32),
    /// Anything else.
    Damaged,
}

impl Identity {
    pub(crate) fn bytes(self, kind: Kind) -> [u8; IDENTITY] {
        let mut bytes = [0; IDENTITY];
        let mut put = |at: usize, value: &[u8]| bytes[at..at + value.len()].copy_from_slice(value);
        put(0, &kind.magic());
        put(8, &VERSION.to_le_bytes());
        put(16, &self.pid.to_le_bytes());
        put(20, &self.number.to_le_bytes());
        put(24, &self.started.to_le_bytes());
        put(32, &self.first_time.to_le_bytes());
        put(40, &self.bytes.to_le_bytes());
        put(48, &self.after.map_or(0, |number| u64::from(number) + 1).to_le_bytes());
        put(56, &self.unix_offset.to_le_bytes());
        let check = crc32fast::hash(&bytes[CHECKED]);
        bytes[12..16].copy_from_slice(&check.to_le_bytes());
        bytes
    }

    pub(crate) fn read(bytes: &[u8], kind: Kind) -> Result<Self, Wrong> {
        check_start(bytes, kind, CHECKED)?;
        Ok(Self {
            pid: u32_at(bytes, 16),
            number: u32_at(bytes, 20),
            started: u64_at(bytes, 24),
            first_time: u64_at(bytes, 32),
            bytes: u64_at(bytes, 40),
            after: u64_at(bytes, 48).checked_sub(1).and_then(|number| u32::try_from(number).ok()),
            unix_offset: u64_at(bytes, 56).cast_signed(),
        })
    }
}

/// Whether a file starts with the right magic, version and checksum.
pub(crate) fn check_start(
    bytes: &[u8],
    kind: Kind,
    checked: std::ops::Range<usize>,
) -> Result<(), Wrong> {
    if u64_at(bytes, 0) == 0 && bytes.iter().take(8).all(|&byte| byte == 0) {
        return Err(Wrong::Blank);
    }
    let covered = bytes.get(checked).ok_or(Wrong::Damaged)?;
    let version = u32_at(bytes, 8);
    if bytes[..8] != kind.magic() || version == 0 {
        return Err(Wrong::Damaged);
    }
    if version > VERSION {
        return Err(Wrong::Newer(version));
    }
    if crc32fast::hash(covered) != u32_at(bytes, 12) { Err(Wrong::Damaged) } else { Ok(()) }
}

/// The number at a place; 0 where the bytes end before it.
pub(crate) fn u32_at(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..).and_then(<[u8]>::first_chunk).map_or(0, |bytes| u32::from_le_bytes(*bytes))
}

/// The number at a place; 0 where the bytes end before it.
pub(crate) fn u64_at(bytes: &[u8], at: usize) -> u64 {
    bytes.get(at..).and_then(<[u8]>::first_chunk).map_or(0, |bytes| u64::from_le_bytes(*bytes))
}

/// The header as it lies in the mapped file.
#[repr(C)]
pub(crate) struct Header {
    /// Written once, before any other process can take the file for a segment.
    pub(crate) identity: [u8; IDENTITY],
    pub(crate) committed: AtomicU64,
    pub(crate) closed: AtomicU32,
    pub(crate) tail_check: AtomicU32,
    pub(crate) records: AtomicU64,
    pub(crate) last_time: AtomicU64,
    spare: [u8; 32],
}

const _: () = assert!(size_of::<Header>() == HEADER);

/// What a reader sees of the second half of a header.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Progress {
    pub(crate) committed: u64,
    /// The writer was done with it: what follows counts.
    pub(crate) closed: bool,
    pub(crate) tail_check: u32,
    pub(crate) records: u64,
}

impl Progress {
    pub(crate) fn read(bytes: &[u8]) -> Self {
        Self {
            committed: u64_at(bytes, 64),
            closed: u32_at(bytes, 72) == 1,
            tail_check: u32_at(bytes, 76),
            records: u64_at(bytes, 80),
        }
    }
}
