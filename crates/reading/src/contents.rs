//! The contents of unpacked files. They are compressed again if they would take much more memory than the archive
//! has bytes: an archive of a few megabytes can hold a gigabyte of repetitions.

use std::{
    collections::{TryReserveError, VecDeque},
    io::{self, Read, Write},
    sync::{Arc, Mutex, PoisonError},
};

use flate2::{Compression, read::DeflateDecoder, write::DeflateEncoder};
use thiserror::Error;
use whyoom_files::folder::Contents;

/// Length of a piece, in bytes. A piece is compressed and decompressed as a whole. Chosen, not measured: four times the
/// window of gzip, so that few repetitions are lost at the borders of pieces.
const PIECE_BYTES: usize = 128 << 10;
/// Bytes that are kept uncompressed, whatever the length of the archive. Chosen, not measured.
const PLAIN_BYTES: u64 = 16 << 20;
/// Bytes that are kept uncompressed for each byte of the archive. Chosen: the recordings of `whyoom demo` have 2.8 to
/// 4.4 times the length of their archives, so that larger ones of their kind are not compressed again.
const PLAIN_BYTES_PER_PACKED_BYTE: u64 = 8;
/// Decompressed pieces that are kept at once, of all files together: threads take turns in a recording.
const MAX_CACHED_PIECES: usize = 64;

/// The reason why contents were not read.
#[derive(Debug, Error)]
pub(crate) enum FillError {
    /// The reader failed, or ended too early.
    #[error(transparent)]
    Read(#[from] io::Error),
    /// There is no memory for them.
    #[error(transparent)]
    NoMemory(#[from] TryReserveError),
}

/// Builds file contents within one memory budget.
#[derive(Debug, Default)]
pub(crate) struct ContentsStore {
    plain_bytes: u64,
    files: u64,
    cache: Arc<PieceCache>,
}

impl ContentsStore {
    /// Begins the contents of another file.
    pub(crate) fn begin(&mut self) -> PiecewiseContents {
        self.files += 1;
        PiecewiseContents {
            file: self.files,
            length: 0,
            pieces: Vec::new(),
            cache: Arc::clone(&self.cache),
        }
    }

    /// Reads `length` bytes into contents that are empty so far. `packed_bytes` returns how many bytes of the archive
    /// were read until now.
    ///
    /// # Errors
    /// If the reader ends before, cannot be read, or there is no memory.
    pub(crate) fn fill<R: Read>(
        &mut self,
        contents: &mut PiecewiseContents,
        reader: &mut R,
        length: u64,
        packed_bytes: impl Fn(&R) -> u64,
    ) -> Result<(), FillError> {
        while contents.length < length {
            let left = usize::try_from(length - contents.length).unwrap_or(usize::MAX);
            let mut piece = Vec::new();
            piece.try_reserve_exact(left.min(PIECE_BYTES))?;
            piece.resize(left.min(PIECE_BYTES), 0);
            reader.read_exact(&mut piece)?;
            contents.length += piece.len() as u64;
            let kept = self.keep(piece, packed_bytes(reader))?;
            contents.pieces.push(kept);
        }
        Ok(())
    }

    fn keep(&mut self, plain: Vec<u8>, packed_bytes: u64) -> io::Result<Piece> {
        let allowed =
            PLAIN_BYTES.saturating_add(packed_bytes.saturating_mul(PLAIN_BYTES_PER_PACKED_BYTE));
        if self.plain_bytes + plain.len() as u64 > allowed {
            let deflated = deflate(&plain)?;
            if deflated.len() < plain.len() {
                return Ok(Piece::Deflated(deflated.into_boxed_slice()));
            }
        }
        self.plain_bytes += plain.len() as u64;
        Ok(Piece::Plain(plain.into_boxed_slice()))
    }
}

fn deflate(plain: &[u8]) -> io::Result<Vec<u8>> {
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(plain)?;
    encoder.finish()
}

#[derive(Debug)]
enum Piece {
    Plain(Box<[u8]>),
    Deflated(Box<[u8]>),
}

/// The contents of a file, in pieces of [`PIECE_BYTES`].
#[derive(Debug)]
pub(crate) struct PiecewiseContents {
    /// Number of the file, among those of the archive.
    file: u64,
    length: u64,
    pieces: Vec<Piece>,
    cache: Arc<PieceCache>,
}

impl Contents for PiecewiseContents {
    fn length(&self) -> u64 {
        self.length
    }

    fn read_at(&self, target: &mut [u8], at: u64) -> io::Result<usize> {
        let index = usize::try_from(at / PIECE_BYTES as u64).unwrap_or(usize::MAX);
        let from = (at % PIECE_BYTES as u64) as usize;
        match self.pieces.get(index) {
            None => Ok(0),
            Some(Piece::Plain(bytes)) => Ok(copy(bytes, from, target)),
            Some(Piece::Deflated(deflated)) => {
                let key = PieceKey { file: self.file, index };
                let bytes = self.cache.inflated(key, deflated)?;
                Ok(copy(&bytes, from, target))
            }
        }
    }
}

/// Copies bytes of a piece from a position on. Returns how many were copied.
fn copy(piece: &[u8], from: usize, target: &mut [u8]) -> usize {
    let rest = piece.get(from..).unwrap_or_default();
    let count = rest.len().min(target.len());
    target[..count].copy_from_slice(&rest[..count]);
    count
}

/// The file that a piece belongs to, and its number in there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct PieceKey {
    file: u64,
    index: usize,
}

#[derive(Debug)]
struct CachedPiece {
    key: PieceKey,
    bytes: Arc<[u8]>,
}

/// Cache of decompressed pieces. Evicts the oldest first (FIFO).
#[derive(Debug, Default)]
struct PieceCache(Mutex<VecDeque<CachedPiece>>);

impl PieceCache {
    /// Returns a piece from the cache, or decompresses it.
    fn inflated(&self, key: PieceKey, deflated: &[u8]) -> io::Result<Arc<[u8]>> {
        let mut cached = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = cached.iter().find(|piece| piece.key == key) {
            return Ok(Arc::clone(&found.bytes));
        }
        let mut bytes = Vec::with_capacity(PIECE_BYTES);
        DeflateDecoder::new(deflated).take(PIECE_BYTES as u64).read_to_end(&mut bytes)?;
        let bytes: Arc<[u8]> = bytes.into();
        if cached.len() >= MAX_CACHED_PIECES {
            cached.pop_front();
        }
        cached.push_back(CachedPiece { key, bytes: Arc::clone(&bytes) });
        Ok(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl PiecewiseContents {
        fn memory(&self) -> usize {
            let of = |piece: &Piece| match piece {
                Piece::Plain(bytes) | Piece::Deflated(bytes) => bytes.len(),
            };
            self.pieces.iter().map(of).sum()
        }
    }

    #[test]
    fn contents_beyond_the_budget_are_compressed_and_read_alike() {
        let length = PLAIN_BYTES as usize * 3 + 7;
        let bytes: Vec<u8> = (0..length).map(|at| (at / 1000 % 251) as u8).collect();
        let mut store = ContentsStore::default();
        let mut contents = store.begin();
        let filled = store.fill(&mut contents, &mut &*bytes, length as u64, |_| 0);
        filled.expect("it is read");
        assert!(contents.memory() < PLAIN_BYTES as usize * 5 / 4, "{}", contents.memory());
        assert_eq!(contents.length(), length as u64);
        let contents: Arc<dyn Contents> = Arc::new(contents);
        assert!(contents.to_vec().expect("it is read") == bytes);
        for at in [0, PIECE_BYTES - 1, PLAIN_BYTES as usize - 3, length - 5, length, length + 1] {
            let mut some = [0; 9];
            let read = contents.read_at(&mut some, at as u64).expect("it is read");
            assert_eq!(some[..read], bytes[at.min(length)..(at + read).min(length)], "{at}");
            assert_eq!(read == 0, at >= length);
        }
    }

    #[test]
    fn contents_of_a_long_archive_stay_as_they_are() {
        let bytes = vec![0; PLAIN_BYTES as usize * 2];
        let mut store = ContentsStore::default();
        let mut contents = store.begin();
        let filled =
            store.fill(&mut contents, &mut &*bytes, bytes.len() as u64, |_| PLAIN_BYTES / 8);
        filled.expect("it is read");
        assert_eq!(contents.memory(), bytes.len());
    }

    #[test]
    fn a_reader_that_ends_too_early_is_an_error() {
        let mut store = ContentsStore::default();
        let mut contents = store.begin();
        let filled = store.fill(&mut contents, &mut &[7; 99][..], 100, |_| 0);
        assert!(matches!(filled, Err(FillError::Read(_))));
    }
}
