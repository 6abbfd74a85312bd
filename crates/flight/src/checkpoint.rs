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
use whyoom_files::{folder::Folder, private};
use whyoom_memory::Model;
use whyoom_trace::Tables;

use crate::about::About;

/// The file's name in the recording's folder.
pub const CHECKPOINT: &str = "flight.model";
const MAGIC: &[u8; 8] = b"whyoomFL";
/// Raise it with every change of what is saved: a test notices.
const VERSION: u32 = 3;
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
    /// What has happened since, nobody can tell here.
    #[error("the recording was packed before the program ended")]
    Unfinished,
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

    /// Reads that of a recording's folder. One of a run that goes on, on this machine, is as old as it says.
    ///
    /// # Errors
    /// Where there is none, or none that tells the run until now.
    pub fn read(folder: impl Into<Folder>) -> Result<Self, Unusable> {
        let folder = folder.into();
        let checkpoint = parse(&folder.entry(CHECKPOINT).read(MOST_BYTES)?)?;
        if checkpoint.about.finished {
            return Ok(checkpoint);
        }
        match folder {
            Folder::Disk(_) if checkpoint.about.by.runs() => Ok(checkpoint),
            Folder::Disk(_) => Err(Unusable::Abandoned),
            Folder::Memory(_) => Err(Unusable::Unfinished),
        }
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
    decode(body).map_err(|_| Unusable::Damaged)
}

fn decode(body: &[u8]) -> postcard::Result<Checkpoint> {
    let ((about, tables), rest) = postcard::take_from_bytes::<(About, Tables)>(body)?;
    let mut saved = postcard::Deserializer::from_bytes(rest);
    let model = Model::read_saved(&tables, &mut saved)?;
    match saved.finalize()? {
        [] => Ok(Checkpoint { about, model, tables }),
        _ => Err(postcard::Error::DeserializeBadEncoding),
    }
}

#[cfg(test)]
mod tests {
    use whyoom_trace::{
        Action, Address, Bytes, Counter, DeviceId, Event, EventSink, HandleId, MarkKind,
        MemoryKind, Origin, PoolId, ResultCode, SegmentGrowth, SizeClass, StackId, StreamId, Time,
    };

    use super::*;

    /// A run with something in every part of a model, but for the order of what a hash has.
    fn saved() -> (About, Model, Tables) {
        let (mut model, mut tables) = (Model::default(), Tables::default());
        let process = tables.process("train.py (PID 7)");
        model.begin_launch(process);
        let name = tables.string("step");
        let frames =
            ["train.py", "torch/optim/adam.py"].map(|file| tables.frame_text("f", file, 3));
        let stacks = frames.map(|frame| tables.stack(&[frame]));
        let (size, requested) = (Bytes(1 << 20), Bytes(1000));
        let address = |at: u64| Address(0x7f00_0000_0000 + at * (1 << 20));
        let (class, growth) = (SizeClass::Large, SegmentGrowth::Fixed);
        let mut actions = vec![
            Action::ContextCreate,
            Action::SegmentAlloc { address: address(0), size: Bytes(1 << 30), class, growth },
            Action::Alloc { kind: MemoryKind::StreamOrdered, address: address(9_000), size },
            Action::Create { handle: HandleId(5), size },
            Action::Map { address: address(9_100), size, handle: HandleId(5) },
        ];
        for step in 0..40 {
            actions.push(Action::Mark { kind: MarkKind::Iteration, name });
            actions.push(Action::BlockAlloc { address: address(step), requested, size });
            actions.push(Action::BlockAlloc { address: address(900), requested, size });
            actions.push(Action::BlockFree { address: address(900) });
        }
        actions.push(Action::Sample { counter: Counter::DeviceFree, bytes: size });
        actions.push(Action::OutOfMemory { requested: Bytes(1 << 34) });
        for (at, action) in (1..).zip(actions) {
            let failed = matches!(action, Action::OutOfMemory { .. });
            let origin = Origin {
                process,
                device: DeviceId(0),
                stream: StreamId(at % 2),
                pool: PoolId(0),
                ..Origin::default()
            };
            let stack = if failed { StackId(0) } else { stacks[at as usize % 2] };
            let result = ResultCode(0);
            model.event(&Event { time: Time(at), origin, stack, result, action }, &tables);
        }
        let about = About { time: 5, finished: true, events: 7, ..About::default() };
        (about, model, tables)
    }

    fn figures(model: &Model) -> String {
        let spaces = model.spaces().map(|(process, device, space)| {
            let mut stacks = (space.peak_by_stack(), space.live_by_stack());
            stacks.0.sort_by_key(|(stack, _)| *stack);
            stacks.1.sort_by_key(|(stack, _)| *stack);
            let mut growth = model.growth(process, device);
            growth.iter_mut().for_each(|growth| growth.blocks.sort());
            format!("{:?} {:?} {stacks:?} {growth:?}", space.peak(), space.totals())
        });
        let incidents = model.incidents().iter().map(|one| (one.totals, one.counters.clone()));
        format!("{} {:?}", spaces.collect::<String>(), incidents.collect::<Vec<_>>())
    }

    #[test]
    fn what_is_saved_is_read_again() {
        let (folder, (about, model, tables)) = (tempfile::tempdir().expect("a folder"), saved());
        Checkpoint::write(folder.path(), &about, &model, &tables).expect("it is written");
        let read = Checkpoint::read(folder.path()).expect("it is whole");
        assert_eq!(read.about, about);
        assert_eq!(figures(&read.model), figures(&model));
        assert!(figures(&model).contains("per_iteration"), "{}", figures(&model));
        let stack = StackId(2);
        assert_eq!(read.model.category(stack), model.category(stack), "stacks are known again");
        let names =
            |tables: &Tables| tables.frames(stack).map(|f| f.file.to_owned()).collect::<String>();
        assert_eq!(names(&read.tables), names(&tables));
    }

    #[test]
    fn a_model_that_was_read_goes_on() {
        let (about, mut model, tables) = saved();
        let mut read = parse(&bytes(&about, &model, &tables).expect("bytes")).expect("it is whole");
        let address = Address(0x7f00_0000_0000);
        for model in [&mut model, &mut read.model] {
            let action = Action::BlockFree { address };
            model.event(&Event { time: Time(999), action, ..Event::default() }, &tables);
        }
        assert_eq!(figures(&read.model), figures(&model));
    }

    #[test]
    fn what_is_damaged_or_another_versions_is_refused() {
        let (about, model, tables) = saved();
        let whole = bytes(&about, &model, &tables).expect("bytes");
        assert!(parse(&whole).is_ok());
        for at in (0..whole.len()).filter(|at| !(8..12).contains(at)).step_by(3) {
            let mut bytes = whole.clone();
            bytes[at] ^= 0x10;
            assert!(matches!(parse(&bytes), Err(Unusable::Damaged)), "byte {at}");
        }
        for length in [0, 8, START, whole.len() - 1] {
            assert!(matches!(parse(&whole[..length]), Err(Unusable::Damaged)), "{length} bytes");
        }
        let mut newer = whole;
        newer[8] += 1;
        assert!(matches!(parse(&newer), Err(Unusable::OtherVersion)));
    }

    #[test]
    fn one_of_a_run_that_nobody_follows_any_more_is_refused() {
        let (folder, (about, model, tables)) = (tempfile::tempdir().expect("a folder"), saved());
        let about = About { finished: false, ..about };
        Checkpoint::write(folder.path(), &about, &model, &tables).expect("it is written");
        let read = Checkpoint::read(folder.path());
        assert!(matches!(read, Err(Unusable::Abandoned)), "{read:?}");
    }

    /// Whoever made a recording may have made its model, too, with the right checksum.
    #[test]
    fn a_made_up_model_is_refused_or_judged() {
        let (about, model, tables) = saved();
        let whole = bytes(&about, &model, &tables).expect("bytes");
        let mut read = 0;
        for at in (START..whole.len()).step_by(5) {
            let mut bytes = whole.clone();
            bytes[at] ^= 1 << (at % 8);
            let check = crc32fast::hash(&bytes[START..]);
            bytes[12..START].copy_from_slice(&check.to_le_bytes());
            if let Ok(checkpoint) = parse(&bytes) {
                figures(&checkpoint.model);
                read += 1;
            }
        }
        assert!(read > 1000, "{read} were read");
    }

    /// The bytes change with every field that comes, goes or moves in what is saved.
    #[test]
    fn another_layout_has_another_version() {
        let (about, model, tables) = saved();
        let length = bytes(&about, &model, &tables).expect("bytes").len();
        assert_eq!((VERSION, length), (3, 12_732), "raise VERSION, then note the new length here");
    }
}
