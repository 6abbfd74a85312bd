//! One block of a segment: whether its records can be trusted, and how far they reach.

use std::io;

use whyoom_files::folder::Entry;

use crate::{
    format::{BLOCK, HEADER, TRAILER},
    header::{Progress, u32_at},
};

/// What a block turns out to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Block {
    /// So many bytes of records, with the checksum that the writer left.
    Sound(usize),
    /// So many bytes of records that nobody vouches for: the writer was still at it, or the file
    /// was cut here.
    Open(usize),
    /// Nothing was written to it.
    Blank,
    /// Not what was written.
    Damaged,
}

/// Where a block's records start.
pub(super) fn start(block: u64) -> u64 {
    if block == 0 { HEADER as u64 } else { block.saturating_mul(BLOCK as u64) }
}

/// The block behind it starts here at the latest.
pub(super) fn end(block: u64) -> u64 {
    (block + 1).saturating_mul(BLOCK as u64)
}

/// Reads a block of a file of that length, as far as the file has it.
pub(super) fn load(entry: &Entry, block: u64, length: u64, bytes: &mut Vec<u8>) -> io::Result<()> {
    let (start, end) = (start(block), end(block).min(length));
    let length = (end.saturating_sub(start) as usize).min(BLOCK);
    entry.open()?.read_range(start, bytes, length)
}

/// Judges a block by all of its bytes that the file has. `progress` is none where the segment's
/// header cannot be trusted.
pub(super) fn judge(block: u64, bytes: &[u8], progress: Option<&Progress>) -> Block {
    let whole = bytes.len() as u64 == end(block) - start(block);
    match progress {
        Some(progress) if progress.committed <= end(block) => tail(block, bytes, progress),
        Some(_) if !whole => Block::Open(bytes.len()),
        Some(_) => full(bytes).unwrap_or(Block::Damaged),
        None => full(bytes).filter(|_| whole).unwrap_or_else(|| unknown(bytes, whole)),
    }
}

/// The block that the writer was in.
fn tail(block: u64, bytes: &[u8], progress: &Progress) -> Block {
    let written = progress.committed.saturating_sub(start(block)) as usize;
    match bytes.get(..written) {
        None => Block::Open(bytes.len()),
        Some(_) if !progress.closed => Block::Open(written),
        Some(records) if crc32fast::hash(records) == progress.tail_check => Block::Sound(written),
        Some(_) => Block::Damaged,
    }
}

/// A block that the writer has left: its trailer tells how far it was filled.
fn full(bytes: &[u8]) -> Option<Block> {
    let at = bytes.len().checked_sub(TRAILER)?;
    let used = usize::from(u16::from_le_bytes([bytes[at + 4], bytes[at + 5]]));
    let records = bytes.get(..used).filter(|records| !records.is_empty() && used <= at)?;
    (crc32fast::hash(records) == u32_at(bytes, at)).then_some(Block::Sound(used))
}

/// A block without a checksum in a segment without a header: records until they end.
fn unknown(bytes: &[u8], whole: bool) -> Block {
    let trailer = bytes.len().saturating_sub(TRAILER);
    match bytes.first() {
        None => Block::Blank,
        Some(0) if bytes.iter().all(|&byte| byte == 0) => Block::Blank,
        Some(0) => Block::Damaged,
        Some(_) if whole && bytes[trailer..].iter().any(|&byte| byte != 0) => Block::Damaged,
        Some(_) => Block::Open(bytes.len()),
    }
}
