//! From the pickle's values to [`Content`]. Keys that are missing read as their default: older
//! snapshots lack several. A value of the wrong kind is an error: then it is not a snapshot.

use whyoom_trace::{
    Address, Bytes, DeviceId, FrameId, PoolId, SegmentGrowth, SizeClass, StackId, StreamId, Tables,
};

use super::{
    content::{Annotation, Block, BlockState, Content, Entry, EntryAction, Segment},
    error::SnapshotError,
    keys::{Key, Keys},
};
use crate::pickle::{ContainerId, Document, Node, Value};

type Result<T> = std::result::Result<T, SnapshotError>;

/// Far more than any machine has; a hostile file may claim any number of empty traces.
const MAX_DEVICES: usize = 1024;
/// Python cuts its own tracebacks at 1,000 frames.
const MAX_FRAMES: usize = 4096;

pub(super) fn read(document: &Document, tables: &mut Tables, input_bytes: u64) -> Result<Content> {
    let keys = Keys::of(document);
    let reader = Reader {
        document,
        keys,
        tables,
        interned: Vec::new(),
        frames: Vec::new(),
        visits_left: input_bytes.max(1),
    };
    reader.content()
}

struct Reader<'a> {
    document: &'a Document,
    keys: Keys,
    tables: &'a mut Tables,
    /// By container: the frame or stack made of it, plus one. The same list is never walked twice.
    interned: Vec<u32>,
    /// The frames of the stack that is being read.
    frames: Vec<FrameId>,
    /// Records are distinct objects of several bytes each. A file that shares one among a million
    /// lists would make us visit more of them than it has bytes, and is stopped here.
    visits_left: u64,
}

impl<'a> Reader<'a> {
    fn content(mut self) -> Result<Content> {
        let mut content = Content::default();
        match self.document.root() {
            // What torch.cuda.memory_snapshot() returns: the segments alone.
            Value::Sequence(segments) => self.segments(segments, None, &mut content)?,
            Value::Dict(root) => self.root(root, &mut content)?,
            _ => return Err(SnapshotError::NotASnapshot("it holds neither a dict nor a list")),
        }
        Ok(content)
    }

    fn root(&mut self, root: Node<'a>, content: &mut Content) -> Result<()> {
        let mut is_snapshot = false;
        for (key, value) in root.entries() {
            let key = self.keys.get(key);
            is_snapshot |= matches!(key, Key::Segments | Key::DeviceTraces);
            match (key, value) {
                (Key::Segments, Value::Sequence(list)) => self.segments(list, None, content)?,
                (Key::HostSegments, Value::Sequence(list)) => {
                    self.segments(list, Some(DeviceId::HOST), content)?;
                }
                (Key::DeviceTraces, Value::Sequence(list)) => self.device_traces(list, content)?,
                (Key::HostTraces, Value::Sequence(list)) => self.host_traces(list, content)?,
                (Key::AllocatorSettings, Value::Dict(dict)) => self.settings(dict, "", content),
                (Key::ExternalAnnotations, Value::Sequence(list)) => {
                    self.annotations(list, content)?;
                }
                _ => {}
            }
        }
        if is_snapshot {
            return Ok(());
        }
        Err(SnapshotError::NotASnapshot("it has neither 'segments' nor 'device_traces'"))
    }

    fn segments(
        &mut self,
        list: Node<'a>,
        device: Option<DeviceId>,
        content: &mut Content,
    ) -> Result<()> {
        for value in list.items() {
            let Value::Dict(dict) = value else { return Err(wrong("a segment")) };
            self.visit()?;
            let mut segment = self.segment(dict)?;
            segment.device = device.unwrap_or(segment.device);
            content.segments.push(segment);
        }
        Ok(())
    }

    fn segment(&mut self, dict: Node<'a>) -> Result<Segment> {
        let mut segment = Segment {
            device: DeviceId(0),
            address: Address(0),
            size: Bytes::ZERO,
            stream: StreamId(0),
            pool: PoolId(0),
            class: SizeClass::Large,
            growth: SegmentGrowth::Fixed,
            stack: StackId(0),
            blocks: Vec::new(),
        };
        let mut blocks = None;
        for (key, value) in dict.entries() {
            match self.keys.get(key) {
                Key::Device => segment.device = device(value)?,
                Key::Address => segment.address = Address(number(value)?),
                Key::TotalSize => segment.size = Bytes(number(value)?),
                Key::Stream => segment.stream = StreamId(number(value)?),
                Key::SegmentPoolId => segment.pool = self.pool(value),
                Key::Frames => segment.stack = self.stack(value)?,
                Key::Blocks => blocks = Some(value),
                Key::SegmentType if self.word(value) == Key::Small => {
                    segment.class = SizeClass::Small;
                }
                Key::IsExpandable if matches!(value, Value::Bool(true)) => {
                    segment.growth = SegmentGrowth::Expandable;
                }
                _ => {}
            }
        }
        if let Some(Value::Sequence(list)) = blocks {
            segment.blocks = self.blocks(list, segment.address)?;
        }
        Ok(segment)
    }

    fn blocks(&mut self, list: Node<'a>, mut next: Address) -> Result<Vec<Block>> {
        let mut blocks = Vec::new();
        for value in list.items() {
            let Value::Dict(dict) = value else { return Err(wrong("a block")) };
            self.visit()?;
            // Older snapshots give no address: there the blocks follow each other.
            let block = self.block(dict, next)?;
            next = block.address.offset(block.size);
            blocks.push(block);
        }
        Ok(blocks)
    }

    fn block(&mut self, dict: Node<'a>, address: Address) -> Result<Block> {
        let state = BlockState::Inactive;
        let mut block =
            Block { address, size: Bytes::ZERO, requested: Bytes::ZERO, state, stack: StackId(0) };
        let mut requested = None;
        for (key, value) in dict.entries() {
            match self.keys.get(key) {
                Key::Address => block.address = Address(number(value)?),
                Key::Size => block.size = Bytes(number(value)?),
                Key::RequestedSize => requested = Some(Bytes(number(value)?)),
                Key::Frames => block.stack = self.stack(value)?,
                Key::History => self.history(value, &mut block, &mut requested)?,
                Key::State => {
                    block.state = match self.word(value) {
                        Key::ActiveAllocated => BlockState::Allocated,
                        Key::ActivePendingFree => BlockState::PendingFree,
                        _ => BlockState::Inactive,
                    }
                }
                _ => {}
            }
        }
        block.requested = requested.unwrap_or(block.size);
        Ok(block)
    }

    /// What older snapshots have instead of frames: the block's last users, the newest first.
    fn history(
        &mut self,
        value: Value<'a>,
        block: &mut Block,
        requested: &mut Option<Bytes>,
    ) -> Result<()> {
        let Value::Sequence(list) = value else { return Ok(()) };
        let Some(Value::Dict(newest)) = list.items().next() else { return Ok(()) };
        for (key, value) in newest.entries() {
            match self.keys.get(key) {
                Key::Frames => block.stack = self.stack(value)?,
                Key::RealSize if requested.is_none() => *requested = Some(Bytes(number(value)?)),
                _ => {}
            }
        }
        Ok(())
    }

    fn device_traces(&mut self, list: Node<'a>, content: &mut Content) -> Result<()> {
        for (ordinal, value) in list.items().enumerate() {
            let Value::Sequence(trace) = value else { return Err(wrong("a device's trace")) };
            if ordinal >= MAX_DEVICES {
                return Err(SnapshotError::NotASnapshot("it has traces of over 1,024 devices"));
            }
            let entries = self.entries(trace)?;
            content.traces.push((DeviceId(ordinal as u16), entries));
        }
        Ok(())
    }

    /// Host traces come as one list, or as a list of lists.
    fn host_traces(&mut self, list: Node<'a>, content: &mut Content) -> Result<()> {
        if let Some(Value::Dict(_)) = list.items().next() {
            let entries = self.entries(list)?;
            content.traces.push((DeviceId::HOST, entries));
            return Ok(());
        }
        let mut entries = Vec::new();
        for value in list.items().take(MAX_DEVICES) {
            if let Value::Sequence(trace) = value {
                entries.extend(self.entries(trace)?);
            }
        }
        content.traces.push((DeviceId::HOST, entries));
        Ok(())
    }

    fn entries(&mut self, trace: Node<'a>) -> Result<Vec<Entry>> {
        let mut entries = Vec::new();
        for value in trace.items() {
            let Value::Dict(dict) = value else { return Err(wrong("a trace entry")) };
            self.visit()?;
            entries.extend(self.entry(dict)?);
        }
        Ok(entries)
    }

    /// An entry, or nothing where its action is one that came after this was written.
    fn entry(&mut self, dict: Node<'a>) -> Result<Option<Entry>> {
        let mut action = None;
        let mut entry = Entry {
            action: EntryAction::Snapshot,
            address: Address(0),
            size: Bytes::ZERO,
            stream: StreamId(0),
            time_us: 0,
            pool: PoolId(0),
            stack: StackId(0),
        };
        for (key, value) in dict.entries() {
            match self.keys.get(key) {
                Key::Action => action = entry_action(self.word(value)),
                Key::Addr => entry.address = Address(number(value)?),
                Key::Size => entry.size = Bytes(number(value)?),
                Key::Stream => entry.stream = StreamId(number(value)?),
                Key::TimeUs => entry.time_us = number(value)?,
                Key::PoolId | Key::SegmentPoolId => entry.pool = self.pool(value),
                Key::Frames => entry.stack = self.stack(value)?,
                _ => {}
            }
        }
        Ok(action.map(|action| Entry { action, ..entry }))
    }

    fn settings(&mut self, dict: Node<'a>, prefix: &str, content: &mut Content) {
        for (key, value) in dict.entries() {
            let name = format!("{prefix}{}", String::from_utf8_lossy(self.document.text(key)));
            let value = match value {
                Value::Text(id) => String::from_utf8_lossy(self.document.text(id)).into_owned(),
                Value::Int(number) => number.to_string(),
                Value::Float(number) => number.to_string(),
                Value::Bool(flag) => flag.to_string(),
                // One level: roundup_power2_divisions is a dict of its own.
                Value::Dict(inner) if prefix.is_empty() => {
                    self.settings(inner, &format!("{name}."), content);
                    continue;
                }
                _ => continue,
            };
            content.settings.push((name, value));
        }
    }

    fn annotations(&mut self, list: Node<'a>, content: &mut Content) -> Result<()> {
        for value in list.items() {
            let Value::Dict(dict) = value else { return Err(wrong("an annotation")) };
            self.visit()?;
            let mut starts = false;
            let mut annotation =
                Annotation { device: DeviceId(0), time_us: 0, name: String::new() };
            for (key, value) in dict.entries() {
                match (self.keys.get(key), value) {
                    (Key::Stage, value) => starts = self.word(value) == Key::Start,
                    (Key::Device, value) => annotation.device = device(value)?,
                    (Key::TimeUs, value) => annotation.time_us = number(value)?,
                    (Key::Name, Value::Text(id)) => {
                        annotation.name =
                            String::from_utf8_lossy(self.document.text(id)).into_owned();
                    }
                    _ => {}
                }
            }
            if starts {
                content.annotations.push(annotation);
            }
        }
        Ok(())
    }

    fn stack(&mut self, value: Value<'a>) -> Result<StackId> {
        let Value::Sequence(list) = value else { return Ok(StackId(0)) };
        if let Some(id) = self.interned(list.id) {
            return Ok(StackId(id));
        }
        // Nearly always all frames are known from other stacks, and this is the busiest loop of an
        // import: nine of ten values of a snapshot are frames in lists.
        let mut frames = std::mem::take(&mut self.frames);
        frames.clear();
        let known = |id: Option<ContainerId>| self.interned(id?).map(FrameId);
        frames.extend(list.container_ids().take(MAX_FRAMES).map_while(known));
        if frames.len() < list.len() {
            for value in list.items().take(MAX_FRAMES).skip(frames.len()) {
                let Value::Dict(dict) = value else { return Err(wrong("a frame")) };
                frames.push(self.frame(dict)?);
            }
        }
        let stack = self.tables.stack(&frames);
        self.frames = frames;
        self.intern(list.id, stack.0);
        Ok(stack)
    }

    fn frame(&mut self, dict: Node<'a>) -> Result<FrameId> {
        if let Some(id) = self.interned(dict.id) {
            return Ok(FrameId(id));
        }
        let (mut function, mut file, mut line) = (&[][..], &[][..], 0);
        for (key, value) in dict.entries() {
            match (self.keys.get(key), value) {
                (Key::Name, Value::Text(id)) => function = self.document.text(id),
                (Key::Filename, Value::Text(id)) => file = self.document.text(id),
                (Key::Line, value) => line = u32::try_from(number(value)?).unwrap_or(0),
                _ => {}
            }
        }
        let [function, file] = [function, file].map(String::from_utf8_lossy);
        let frame = self.tables.frame_text(&function, &file, line);
        self.intern(dict.id, frame.0);
        Ok(frame)
    }

    fn interned(&self, container: ContainerId) -> Option<u32> {
        self.interned.get(container.0 as usize)?.checked_sub(1)
    }

    fn intern(&mut self, container: ContainerId, id: u32) {
        let index = container.0 as usize;
        if index >= self.interned.len() {
            self.interned.resize(index + 1, 0);
        }
        self.interned[index] = id + 1;
    }

    fn pool(&mut self, value: Value<'a>) -> PoolId {
        let Value::Sequence(pair) = value else { return PoolId(0) };
        let mut numbers = pair.items().map(|value| number(value).unwrap_or(0));
        let (first, second) = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
        self.tables.pool(first, second)
    }

    fn word(&self, value: Value<'a>) -> Key {
        match value {
            Value::Text(id) => self.keys.get(id),
            _ => Key::Other,
        }
    }

    fn visit(&mut self) -> Result<()> {
        self.visits_left = self.visits_left.checked_sub(1).ok_or(SnapshotError::Unfolds)?;
        Ok(())
    }
}

fn entry_action(word: Key) -> Option<EntryAction> {
    Some(match word {
        Key::Alloc => EntryAction::Alloc,
        Key::FreeRequested => EntryAction::FreeRequested,
        Key::FreeCompleted => EntryAction::FreeCompleted,
        Key::SegmentAlloc => EntryAction::SegmentAlloc,
        Key::SegmentFree => EntryAction::SegmentFree,
        Key::SegmentMap => EntryAction::SegmentMap,
        Key::SegmentUnmap => EntryAction::SegmentUnmap,
        Key::Snapshot => EntryAction::Snapshot,
        Key::Oom => EntryAction::Oom,
        _ => return None,
    })
}

/// A number that cannot be negative: a stream's handle or an address may use all 64 bits.
fn number(value: Value<'_>) -> Result<u64> {
    match value {
        Value::Int(number) => Ok(number as u64),
        Value::None | Value::Opaque => Ok(0),
        _ => Err(wrong("a number")),
    }
}

fn device(value: Value<'_>) -> Result<DeviceId> {
    let ordinal = number(value)?;
    // −1 stands for the host in some releases.
    Ok(u16::try_from(ordinal).map_or(DeviceId::HOST, DeviceId))
}

fn wrong(what: &'static str) -> SnapshotError {
    SnapshotError::WrongKind(what)
}
