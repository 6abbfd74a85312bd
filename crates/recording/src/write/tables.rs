//! Definitions as they are written: rare, under a lock, each with its own checksum.

use std::{slice, sync::atomic::Ordering};

use rustix::io::Errno;

use super::{path::Stem, segment::header};
use crate::{
    definition::Definition,
    format::{DEFINITION_HEADER, HEADER, Kind},
    header::Identity,
    mapped::{self, Mapped},
};

const FIRST_PIECE: u64 = 64 << 10;
const LARGEST_PIECE: u64 = 4 << 20;

/// The pieces of a part's tables: at most one is written to.
#[derive(Debug, Default)]
pub(super) struct TableWriter {
    piece: Option<Piece>,
    made: u32,
    /// What all definitions take.
    bytes: u64,
}

#[derive(Debug)]
struct Piece {
    map: Mapped,
    number: u32,
    at: usize,
    records: u64,
}

impl TableWriter {
    /// Writes a definition. `identity` is that of a piece, without its number and length.
    pub(super) fn define(
        &mut self,
        definition: &Definition<'_>,
        stem: &Stem,
        identity: Identity,
    ) -> Result<(), Errno> {
        let room = DEFINITION_HEADER + definition.longest();
        if self.piece.as_ref().is_none_or(|piece| piece.at + room > piece.map.length()) {
            self.close(stem);
            self.piece = Some(self.next_piece(stem, identity)?);
            self.made += 1;
        }
        if let Some(piece) = &mut self.piece {
            self.bytes += piece.write(definition, room) as u64;
        }
        Ok(())
    }

    /// What all definitions take.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// How many pieces there are.
    pub(super) fn made(&self) -> u32 {
        self.made
    }

    fn next_piece(&self, stem: &Stem, identity: Identity) -> Result<Piece, Errno> {
        let number = self.made;
        let bytes = (FIRST_PIECE << number.min(16)).min(LARGEST_PIECE);
        let map =
            stem.with(Kind::Tables, Some(number), |path| Mapped::create(path, bytes as usize))?;
        header(&map).committed.store(HEADER as u64, Ordering::Release);
        map.put_identity(&Identity { number, bytes, ..identity }.bytes(Kind::Tables));
        Ok(Piece { map, number, at: HEADER, records: 0 })
    }

    /// Ends the piece that is written to and gives back the room that it did not need.
    pub(super) fn close(&mut self, stem: &Stem) {
        let Some(piece) = self.piece.take() else { return };
        let header = header(&piece.map);
        header.records.store(piece.records, Ordering::Relaxed);
        header.closed.store(1, Ordering::Release);
        let (number, used) = (piece.number, piece.at as u64);
        drop(piece);
        let _ = stem.with(Kind::Tables, Some(number), |path| mapped::cut(path, used));
    }
}

impl Piece {
    /// Writes a definition; how many bytes it takes.
    fn write(&mut self, definition: &Definition<'_>, room: usize) -> usize {
        // SAFETY: the caller saw to that much room within the map; definitions are written under a
        // lock, and readers do not look behind `committed`.
        let room = unsafe { slice::from_raw_parts_mut(self.map.start().add(self.at), room) };
        let (length, before) = (definition.write(room), self.at);
        // The next begins at a multiple of eight, where a reader looks for it after damage.
        self.at = (self.at + length).next_multiple_of(8).min(self.map.length());
        self.records += 1;
        header(&self.map).committed.store(self.at as u64, Ordering::Release);
        self.at - before
    }
}
