//! All definitions of a part, taken into the tables before its first event.

use std::{collections::HashMap, io, sync::Arc};

use foldhash::fast::RandomState;
use whyoom_files::folder::Entry;
use whyoom_trace::{Action, Event, Frame, FrameId, PoolId, StackId, StringId, Tables};

use super::{
    Losses,
    folder::FileView,
    modules::{Loaded, Module, Resolve},
    renumber::Renumbering,
};
use crate::{
    definition::{self, Definition, RawFrame},
    format::{HEADER, Kind},
};

/// No piece is longer; what a file has beyond it was not written by whyoom.
const LONGEST_PIECE: u64 = 8 << 20;
/// Addresses of one process beyond these are told by the library that they lie in.
const MOST_ADDRESSES: usize = 1 << 17;
/// Stacks are not longer: debug information may tell many inlined calls at one address.
const MOST_FRAMES: usize = 8192;
/// No path is longer.
const LONGEST_PATH: usize = 4096;

/// What one recording may cost beyond its bytes.
#[derive(Debug)]
pub(super) struct ParseLimits {
    /// How many bytes may be looked at again and again in search of the next definition after damage.
    search: usize,
    /// How many addresses get names of their own: a name takes many times the bytes of an address.
    names: usize,
    /// The frames that are in the tables: what is named by a later one is new.
    frames: u32,
}

impl Default for ParseLimits {
    fn default() -> Self {
        Self { search: 64 << 20, names: 1 << 17, frames: 0 }
    }
}

impl ParseLimits {
    /// Takes what new frames cost.
    fn charge(&mut self, frames: &[FrameId]) {
        for &FrameId(frame) in frames {
            if frame >= self.frames {
                self.frames = frame.saturating_add(1);
                self.names = self.names.saturating_sub(1);
            }
        }
    }
}

/// What the ids of one part are in the tables.
#[derive(Debug, Default)]
pub(super) struct Ids {
    strings: Renumbering,
    frames: Renumbering,
    stacks: Renumbering,
    pools: Renumbering,
}

impl Ids {
    /// Puts the tables' id of an event's pool in place of the part's, if it is defined.
    #[inline]
    pub(super) fn apply_pool(&self, event: &mut Event) -> bool {
        let pool = self.pools.get(event.origin.pool.0);
        event.origin.pool = pool.map_or(event.origin.pool, PoolId);
        pool.is_some()
    }

    /// Puts the tables' other ids in place of the part's. Whether all are defined: an id that is not
    /// becomes the one that stands for nothing.
    #[inline]
    pub(super) fn apply(&self, event: &mut Event) -> bool {
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
}

/// What was defined so far of one part, for whoever reads the rest later.
#[derive(Debug, Default)]
pub(super) struct Defined {
    pub(super) ids: Ids,
    loaded: Loaded,
    known: HashMap<(u32, u64), Box<[FrameId]>, RandomState>,
    paths: HashMap<StringId, Arc<str>, RandomState>,
}

/// Takes definitions into the tables.
pub(super) struct Definer<'a> {
    pub(super) ids: Ids,
    tables: &'a mut Tables,
    resolve: &'a mut dyn Resolve,
    loaded: Loaded,
    /// What addresses were resolved to, by the number of the code there, 0 for none.
    known: HashMap<(u32, u64), Box<[FrameId]>, RandomState>,
    /// Paths of modules, which many of them may share.
    paths: HashMap<StringId, Arc<str>, RandomState>,
    limits: &'a mut ParseLimits,
    /// Room that is used again and again.
    raw: Vec<RawFrame>,
    frames: Vec<FrameId>,
}

impl<'a> Definer<'a> {
    pub(super) fn new(
        tables: &'a mut Tables,
        resolve: &'a mut dyn Resolve,
        limits: &'a mut ParseLimits,
    ) -> Self {
        Self::resume(Defined::default(), tables, resolve, limits)
    }

    /// Goes on after what was defined before.
    pub(super) fn resume(
        Defined { ids, loaded, known, paths }: Defined,
        tables: &'a mut Tables,
        resolve: &'a mut dyn Resolve,
        limits: &'a mut ParseLimits,
    ) -> Self {
        let (raw, frames) = (Vec::new(), Vec::new());
        Self { ids, tables, resolve, loaded, known, paths, limits, raw, frames }
    }

    /// Stops until more is defined.
    pub(super) fn pause(self) -> Defined {
        let Self { ids, loaded, known, paths, .. } = self;
        Defined { ids, loaded, known, paths }
    }

    /// Takes all definitions of one piece.
    pub(super) fn piece(
        &mut self,
        entry: &Entry,
        view: &FileView,
        losses: &mut Losses,
    ) -> io::Result<()> {
        let mut bytes = pieces_bytes(entry, view)?;
        let now = view.begun_since(entry, Kind::Tables);
        if let Some(now) = &now {
            // What was read may be a definition that is half written: it is read again, as far as it is whole.
            bytes = pieces_bytes(entry, now)?;
        }
        let view = now.as_ref().unwrap_or(view);
        losses.damaged_definitions += view.cut();
        self.records(bytes.get(HEADER..).unwrap_or_default(), losses);
        Ok(())
    }

    /// Takes the definitions that these bytes consist of.
    pub(super) fn records(&mut self, bytes: &[u8], losses: &mut Losses) {
        let mut at = 0;
        while let Some(rest) = bytes.get(at..).filter(|rest| !rest.is_empty()) {
            let Some((tag, body, length)) = definition::record(rest) else {
                let Some(skipped) = next_record(rest, &mut self.limits.search) else {
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
                self.limits.frames = self.limits.frames.max(frame.0.saturating_add(1));
                ids.frames.define(id.0, frame.0);
            }
            Definition::Stack { id, frames } => {
                let StackId(stack) = self.stack(frames);
                self.ids.stacks.define(id.0, stack);
            }
            Definition::Module { start, end, bias, path, build_id } => {
                let path = StringId(ids.strings.get(path.0).unwrap_or(0));
                let text = self.tables.text(path);
                let text = if text.len() > LONGEST_PATH { "" } else { text };
                let path = Arc::clone(self.paths.entry(path).or_insert_with(|| text.into()));
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
            if frames.len() >= MOST_FRAMES {
                break;
            }
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
        if self.known.len() >= MOST_ADDRESSES || self.limits.names == 0 {
            let library = module.map_or("", Module::name);
            frames.push(self.tables.frame_text(library, library, 0));
            return;
        }
        let before = frames.len();
        self.resolve.frames(module, address, self.tables, frames);
        frames.truncate(MOST_FRAMES);
        self.limits.charge(frames.get(before..).unwrap_or_default());
        self.known.insert(key, frames.get(before..).unwrap_or_default().into());
    }
}

/// The bytes of a piece, as far as its writer was when it was looked at.
fn pieces_bytes(entry: &Entry, view: &FileView) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let file = entry.open()?;
    let length = file.paid_length(view.end().min(LONGEST_PIECE));
    file.read_range(0, &mut bytes, length as usize)?;
    Ok(bytes)
}

/// How many bytes to skip to the next definition whose checksum is right.
fn next_record(bytes: &[u8], search: &mut usize) -> Option<usize> {
    let mut at = 8;
    while let Some(rest) = bytes.get(at..).filter(|rest| rest.len() >= 8) {
        if rest[0] == 0 {
            at += 8;
            continue;
        }
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
