//! All definitions of a part, taken into the tables before its first event.

use std::{
    collections::HashMap,
    fs::File,
    io::{self, Read},
    path::Path,
};

use foldhash::fast::RandomState;
use whyoom_trace::{Action, Event, Frame, FrameId, PoolId, StackId, StringId, Tables};

use super::{
    Losses,
    folder::FileView,
    modules::{Loaded, Module, Resolve},
    renumber::Renumbering,
};
use crate::{
    definition::{self, Definition, RawFrame},
    format::HEADER,
};

/// No piece is longer; what a file has beyond it was not written by whyoom.
const LONGEST_PIECE: u64 = 64 << 20;
/// How many bytes may be looked at again and again in search of the next definition after damage.
const SEARCH: usize = 64 << 20;

/// What the ids of one part are in the tables.
#[derive(Debug, Default)]
pub(super) struct Ids {
    strings: Renumbering,
    frames: Renumbering,
    stacks: Renumbering,
    pools: Renumbering,
}

impl Ids {
    /// Puts the tables' ids in place of the part's. Whether all are defined: an id that is not
    /// becomes the one that stands for nothing.
    #[inline]
    pub(super) fn apply(&mut self, event: &mut Event, tables: &mut Tables) -> bool {
        let PoolId(pool) = event.origin.pool;
        event.origin.pool = PoolId(self.pools.get(pool).unwrap_or_else(|| self.pool(pool, tables)));
        let mut all = true;
        let mut replace = |ids: &Renumbering, id: &mut u32| {
            *id = ids.get(*id).unwrap_or_else(|| {
                all = false;
                0
            });
        };
        replace(&self.stacks, &mut event.stack.0);
        match &mut event.action {
            Action::LaunchFailed { kernel: text, .. }
            | Action::Symptom { text, .. }
            | Action::Mark { name: text, .. }
            | Action::Holder { command: text, .. } => replace(&self.strings, &mut text.0),
            Action::Setting { name, value } => {
                replace(&self.strings, &mut name.0);
                replace(&self.strings, &mut value.0);
            }
            _ => {}
        }
        all
    }

    /// A pool that is told apart by its id alone.
    #[cold]
    fn pool(&mut self, id: u32, tables: &mut Tables) -> u32 {
        let PoolId(pool) = tables.pool(0, id.into());
        self.pools.define(id, pool);
        pool
    }
}

/// Takes definitions into the tables.
pub(super) struct Definer<'a> {
    pub(super) ids: Ids,
    tables: &'a mut Tables,
    resolve: &'a mut dyn Resolve,
    loaded: Loaded,
    /// What addresses were resolved to, by the number of the code there, 0 for none.
    known: HashMap<(u32, u64), Box<[FrameId]>, RandomState>,
    /// Room that is used again and again.
    raw: Vec<RawFrame>,
    frames: Vec<FrameId>,
}

impl<'a> Definer<'a> {
    pub(super) fn new(tables: &'a mut Tables, resolve: &'a mut dyn Resolve) -> Self {
        Self {
            ids: Ids::default(),
            tables,
            resolve,
            loaded: Loaded::default(),
            known: HashMap::default(),
            raw: Vec::new(),
            frames: Vec::new(),
        }
    }

    /// Takes all definitions of one piece.
    pub(super) fn piece(
        &mut self,
        path: &Path,
        view: &FileView,
        losses: &mut Losses,
    ) -> io::Result<()> {
        let mut bytes = Vec::new();
        File::open(path)?.take(view.end().min(LONGEST_PIECE)).read_to_end(&mut bytes)?;
        losses.damaged_definitions += view.cut();
        self.records(bytes.get(HEADER..).unwrap_or_default(), losses);
        Ok(())
    }

    fn records(&mut self, bytes: &[u8], losses: &mut Losses) {
        let (mut at, mut search) = (0, SEARCH);
        while let Some(rest) = bytes.get(at..).filter(|rest| !rest.is_empty()) {
            let Some((tag, body, length)) = definition::record(rest) else {
                let Some(skipped) = next_record(rest, &mut search) else {
                    losses.damaged_definitions += damage(rest);
                    break;
                };
                losses.damaged_definitions += damage(&rest[..skipped]);
                at += skipped;
                continue;
            };
            let mut raw = std::mem::take(&mut self.raw);
            match Definition::read(tag, body, &mut raw) {
                Some(definition) => self.define(definition),
                None => losses.damaged_definitions += length as u64,
            }
            self.raw = raw;
            at += length.next_multiple_of(8);
        }
    }

    fn define(&mut self, definition: Definition<'_>) {
        let ids = &mut self.ids;
        match definition {
            Definition::String { id, text } => {
                let text = self.tables.string(&String::from_utf8_lossy(text));
                ids.strings.define(id.0, text.0);
            }
            Definition::Frame { id, function, file, line } => {
                let [function, file] =
                    [function, file].map(|id| StringId(ids.strings.get(id.0).unwrap_or(0)));
                let frame = self.tables.frame(Frame { function, file, line });
                ids.frames.define(id.0, frame.0);
            }
            Definition::Stack { id, frames } => {
                let StackId(stack) = self.stack(frames);
                self.ids.stacks.define(id.0, stack);
            }
            Definition::Module { start, end, bias, path, build_id } => {
                let path = StringId(ids.strings.get(path.0).unwrap_or(0));
                let path = self.tables.text(path).to_owned();
                self.loaded.load(Module { start, end, bias, path, build_id: build_id.to_vec() });
            }
            Definition::Pool { id, first, second } => {
                let PoolId(pool) = self.tables.pool(first, second);
                ids.pools.define(id.0, pool);
            }
        }
    }

    fn stack(&mut self, raw: &[RawFrame]) -> StackId {
        let mut frames = std::mem::take(&mut self.frames);
        frames.clear();
        for &frame in raw {
            match frame {
                RawFrame::Native(address) => self.native(address, &mut frames),
                RawFrame::Named(id) => frames.extend(self.ids.frames.get(id.0).map(FrameId)),
            }
        }
        let stack = self.tables.stack(&frames);
        self.frames = frames;
        stack
    }

    fn native(&mut self, address: u64, frames: &mut Vec<FrameId>) {
        let (number, module) = self.loaded.at(address).unzip();
        let key = (number.unwrap_or(0), address);
        if let Some(known) = self.known.get(&key) {
            frames.extend_from_slice(known);
            return;
        }
        let before = frames.len();
        self.resolve.frames(module, address, self.tables, frames);
        self.known.insert(key, frames[before..].into());
    }
}

/// How many bytes to skip to the next definition whose checksum is right.
fn next_record(bytes: &[u8], search: &mut usize) -> Option<usize> {
    let mut at = 8;
    while let Some(rest) = bytes.get(at..).filter(|rest| rest.len() >= 8) {
        // What a checksum costs is taken from the search before it is computed.
        let claimed = (u32::from_le_bytes([rest[1], rest[2], rest[3], 0]) as usize).min(rest.len());
        *search = search.checked_sub(claimed + 8)?;
        if definition::record(rest).is_some() {
            return Some(at);
        }
        at += 8;
    }
    None
}

/// What is lost with bytes: nothing where they were never written.
fn damage(bytes: &[u8]) -> u64 {
    if bytes.iter().all(|&byte| byte == 0) { 0 } else { bytes.len() as u64 }
}
