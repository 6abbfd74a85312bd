//! The model as a file: `flight.model` in the recording's folder.
//!
//! | offset | bytes | contents |
//! |---|---|---|
//! | 0 | 8 | `whyoomFL` |
//! | 8 | 4 | version of this layout |
//! | 12 | 4 | CRC-32 of all that follows |
//! | 16 | | what it was made from, the tables and the model, in the encoding of postcard |
//!
//! The layout is that of the model, which changes as whyoom does: whoever has another version reads the ring alone.

use std::{io, path::Path};

use thiserror::Error;
use whyoom_files::{private, untrusted};
use whyoom_memory::Model;
use whyoom_trace::Tables;

use crate::About;

/// The file's name in the recording's folder.
pub const CHECKPOINT: &str = "flight.model";
const MAGIC: &[u8; 8] = b"whyoomFL";
/// Raise it with every change of what is saved: a test notices.
const VERSION: u32 = 1;
const START: usize = 16;
/// A larger one is not written, nor read: that is a live set of some ten million blocks.
const MOST_BYTES: u64 = 1 << 30;

/// A model that was saved, with what it names and what it was made from.
#[derive(Debug)]
pub struct Checkpoint {
    /// What it was made from.
    pub about: About,
    /// Memory over the whole run until then.
    pub model: Model,
    /// What the model names by id.
    pub tables: Tables,
}

/// Why a recording's model is not used.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Unusable {
    /// There is none, or none that can be read.
    #[error("{CHECKPOINT} cannot be read ({0})")]
    Unreadable(#[from] io::Error),
    /// Not what was written.
    #[error("{CHECKPOINT} is damaged")]
    Damaged,
    /// Another version wrote it.
    #[error(
        "{CHECKPOINT} was written by another version of whyoom: read the recording with that one"
    )]
    OtherVersion,
    /// Whoever followed the run is gone, and the run went on.
    #[error("whyoom run was killed before the program ended")]
    Abandoned,
}

impl Checkpoint {
    pub(crate) fn write(
        folder: &Path,
        about: &About,
        model: &Model,
        tables: &Tables,
    ) -> io::Result<()> {
        let bytes = bytes(about, model, tables)?;
        if bytes.len() as u64 > MOST_BYTES {
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, "the live set is too large"));
        }
        private::replace(&folder.join(CHECKPOINT), bytes)
    }

    /// Writes it into a recording's folder, in place of an earlier one.
    ///
    /// # Errors
    /// Where it cannot be written; the earlier one stays.
    pub fn save(&self, folder: &Path) -> io::Result<()> {
        Self::write(folder, &self.about, &self.model, &self.tables)
    }

    /// Reads that of a recording's folder. One of a run that goes on is as old as it says.
    ///
    /// # Errors
    /// Where there is none, or none that tells the run until now.
    pub fn read(folder: &Path) -> Result<Self, Unusable> {
        let checkpoint = parse(&untrusted::read_entry(&folder.join(CHECKPOINT), MOST_BYTES)?)?;
        let is_current = checkpoint.about.finished || checkpoint.about.by.runs();
        if is_current { Ok(checkpoint) } else { Err(Unusable::Abandoned) }
    }
}

fn bytes(about: &About, model: &Model, tables: &Tables) -> io::Result<Vec<u8>> {
    let mut bytes = MAGIC.to_vec();
    bytes.extend(VERSION.to_le_bytes());
    bytes.extend([0; 4]);
    let mut bytes =
        postcard::to_extend(&(about, tables, model), bytes).map_err(io::Error::other)?;
    let check = crc32fast::hash(&bytes[START..]);
    bytes[12..START].copy_from_slice(&check.to_le_bytes());
    Ok(bytes)
}

fn parse(bytes: &[u8]) -> Result<Checkpoint, Unusable> {
    let (head, body) = bytes.split_at_checked(START).ok_or(Unusable::Damaged)?;
    if head[..8] != *MAGIC {
        return Err(Unusable::Damaged);
    }
    if head[8..12] != VERSION.to_le_bytes() {
        return Err(Unusable::OtherVersion);
    }
    if head[12..] != crc32fast::hash(body).to_le_bytes() {
        return Err(Unusable::Damaged);
    }
    let parsed: Result<(About, Tables, Model), _> = postcard::from_bytes(body);
    let (about, tables, mut model) = parsed.map_err(|_| Unusable::Damaged)?;
    model.restore(&tables);
    Ok(Checkpoint { about, model, tables })
}
