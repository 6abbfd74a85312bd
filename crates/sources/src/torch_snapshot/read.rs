//! From the pickle's values to [`Content`]. Keys that are missing read as their default: older
//! snapshots lack several. A value of the wrong kind is an error: then it is not a snapshot.

use std::collections::HashMap;

use foldhash::fast::RandomState;
use whyoom_trace::{
    Address, Bytes, DeviceId, Frame, FrameId, PoolId, SegmentGrowth, SizeClass, StackId, StreamId,
    StringId, Tables,
};

use super::{
    content::{Annotation, Block, BlockState, Content, Entry, EntryAction, Segment, SegmentHead},
    error::SnapshotError,
    keys::{Key, Keys},
    metadata,
};
use crate::pickle::{Document, Node, Packed, TextId, Value};

type Result<T> = std::result::Result<T, SnapshotError>;

/// Far more than any machine has; a hostile file may claim any number of empty traces.
const MAX_DEVICES: usize = 1024;
/// Names and values of settings are shorter than this.
const MAX_SETTING: usize = 1024;
/// Python cuts its own tracebacks at 1,000 frames.
const MAX_FRAMES: usize = 4096;
/// Longer names and values are cut: each stands for a place of many stacks.
const LONGEST_TEXT: usize = 4096;
/// What PyTorch writes where no text was given, and outside of torch.compile.
const NO_CONTEXT: [&[u8]; 2] = [b"", b"N/A"];

pub(super) fn read(document: &Document, tables: &mut Tables, input_bytes: u64) -> Result<Content> {
    let keys = Keys::of(document);
    let reader = Reader {
        document,
        keys,
        tables,
        frames: Vec::new(),
        stacks: Vec::new(),
        stacks_by_items: HashMap::default(),
        strings: Vec::new(),
        stack_being_read: Vec::new(),
        in_modules: HashMap::default(),
        visits_left: input_bytes,
    };
    reader.content()
}

struct Reader<'a> {
    document: &'a Document,
    keys: Keys,
    tables: &'a mut Tables,
    /// By container, and by string: what was made of it, so that nothing is read twice.
    frames: Vec<Option<FrameId>>,
    stacks: Vec<Option<StackId>>,
    /// PyTorch writes a stack anew for each entry, as a list of the same frames.
    stacks_by_items: HashMap<&'a [Packed], StackId, RandomState>,
    strings: Vec<Option<StringId>>,
    stack_being_read: Vec<FrameId>,
    /// Stacks with what a text names.
    in_modules: HashMap<(StackId, StringId), StackId, RandomState>,
    /// Each item costs at least a byte of the file, and is visited once. A file that refers to the
    /// same part over and over would make us visit more items than it has bytes: it is stopped here.
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
        for (key, value) in self.visit(root)?.entries() {
            let key = self.keys.get(key);
            is_snapshot |= matches!(key, Key::Segments | Key::DeviceTraces);
            match (key, value) {
                (Key::Segments, Value::Sequence(list)) => self.segments(list, None, content)?,
                (Key::HostSegments, Value::Sequence(list)) => {
                    self.segments(list, Some(DeviceId::HOST), content)?;
                }
                (Key::DeviceTraces, Value::Sequence(list)) => self.device_traces(list, content)?,
                (Key::HostTraces, Value::Sequence(list)) => self.host_traces(list, content)?,
                (Key::AllocatorSettings, Value::Dict(dict)) => self.settings(dict, "", content)?,
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
        for value in self.visit(list)?.items() {
            let Value::Dict(dict) = value else { return Err(wrong("a segment")) };
            let mut segment = self.segment(dict)?;
            segment.device = device.unwrap_or(segment.device);
            content.segments.push(segment);
        }
        Ok(())
    }

    fn segment(&mut self, dict: Node<'a>) -> Result<Segment> {
        let mut device_id = DeviceId(0);
        let mut head = SegmentHead {
            address: Address(0),
            size: Bytes::ZERO,
            stream: StreamId(0),
            pool: PoolId(0),
            class: SizeClass::Large,
            growth: SegmentGrowth::Fixed,
            stack: StackId(0),
        };
        let mut blocks = None;
        for (key, value) in self.visit(dict)?.entries() {
            match self.keys.get(key) {
                Key::Device => device_id = device(value)?,
                Key::Address => head.address = Address(number(value)?),
                Key::TotalSize => head.size = Bytes(number(value)?),
                Key::Stream => head.stream = StreamId(number(value)?),
                Key::SegmentPoolId => head.pool = self.pool(value),
                Key::Frames => head.stack = self.stack(value)?,
                Key::Blocks => blocks = Some(value),
                Key::SegmentType if self.word(value) == Key::Small => {
                    head.class = SizeClass::Small;
                }
                Key::IsExpandable if matches!(value, Value::Bool(true)) => {
                    head.growth = SegmentGrowth::Expandable;
                }
                _ => {}
            }
        }
        let blocks = match blocks {
            Some(Value::Sequence(list)) => self.blocks(list, head.address)?,
            _ => Vec::new(),
        };
        Ok(Segment { device: device_id, head, blocks })
    }

    fn blocks(&mut self, list: Node<'a>, mut next: Address) -> Result<Vec<Block>> {
        let mut blocks = Vec::new();
        for value in self.visit(list)?.items() {
            let Value::Dict(dict) = value else { return Err(wrong("a block")) };
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
        for (key, value) in self.visit(dict)?.entries() {
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
        for (key, value) in self.visit(newest)?.entries() {
            match self.keys.get(key) {
                Key::Frames => block.stack = self.stack(value)?,
                Key::RealSize if requested.is_none() => *requested = Some(Bytes(number(value)?)),
                _ => {}
            }
        }
        Ok(())
    }

    fn device_traces(&mut self, list: Node<'a>, content: &mut Content) -> Result<()> {
        for (ordinal, value) in self.visit(list)?.items().enumerate() {
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
        for value in self.visit(list)?.items() {
            if let Value::Sequence(trace) = value {
                entries.extend(self.entries(trace)?);
            }
        }
        content.traces.push((DeviceId::HOST, entries));
        Ok(())
    }

    fn entries(&mut self, trace: Node<'a>) -> Result<Vec<Entry>> {
        let mut entries = Vec::new();
        for value in self.visit(trace)?.items() {
            let Value::Dict(dict) = value else { return Err(wrong("a trace entry")) };
            entries.extend(self.entry(dict)?);
        }
        Ok(entries)
    }

    /// An entry, or nothing where its action is one that came after this was written.
    fn entry(&mut self, dict: Node<'a>) -> Result<Option<Entry>> {
        let (mut action, mut text, mut graph) = (None, None, None);
        let mut entry = Entry {
            action: EntryAction::Snapshot,
            address: Address(0),
            size: Bytes::ZERO,
            stream: StreamId(0),
            time_us: 0,
            pool: PoolId(0),
            stack: StackId(0),
        };
        for (key, value) in self.visit(dict)?.entries() {
            match self.keys.get(key) {
                Key::Action => action = entry_action(self.word(value)),
                Key::Addr => entry.address = Address(number(value)?),
                Key::Size => entry.size = Bytes(number(value)?),
                Key::Stream => entry.stream = StreamId(number(value)?),
                Key::TimeUs => entry.time_us = number(value)?,
                Key::PoolId | Key::SegmentPoolId => entry.pool = self.pool(value),
                Key::Frames => entry.stack = self.stack(value)?,
                Key::UserMetadata => text = self.text(value),
                Key::CompileContext => graph = self.text(value),
                _ => {}
            }
        }
        if action == Some(EntryAction::Annotate) {
            // Its frames are of who told, not of who made it.
            entry.stack = StackId(0);
        }
        if let Some(EntryAction::Alloc | EntryAction::Annotate | EntryAction::Oom) = action {
            entry.stack = self.in_module(entry.stack, text, graph);
        }
        Ok(action.map(|action| Entry { action, ..entry }))
    }

    /// The text of a value that is one, where it tells something.
    fn text(&self, value: Value<'a>) -> Option<TextId> {
        match value {
            Value::Text(id) if !NO_CONTEXT.contains(&self.document.text(id)) => Some(id),
            _ => None,
        }
    }

    /// A stack with the module that a text of the program's names, or else the graph of torch.compile.
    fn in_module(
        &mut self,
        stack: StackId,
        text: Option<TextId>,
        graph: Option<TextId>,
    ) -> StackId {
        let Some(id) = text.or(graph) else { return stack };
        // PyTorch writes the same text anew for each entry.
        let told = self.string(id);
        if let Some(&known) = self.in_modules.get(&(stack, told)) {
            return known;
        }
        // A long stack with very many texts would take more than the file has.
        let cost = self.tables.frames(stack).count() as u64;
        let Some(left) = self.visits_left.checked_sub(cost) else { return stack };
        self.visits_left = left;
        let words = self.tables.text(told);
        let prefix = if text.is_some() { "" } else { "torch.compile " };
        let named = format!("{prefix}{words}");
        let (name, role) = metadata::module(&named);
        let module = self.tables.module_frame(name, role);
        let known = self.tables.stack_in_module(stack, module);
        self.in_modules.insert((stack, told), known);
        known
    }

    fn settings(&mut self, dict: Node<'a>, prefix: &str, content: &mut Content) -> Result<()> {
        for (key, value) in self.visit(dict)?.entries() {
            let Some(name) = self.setting_text(key) else { continue };
            let name = format!("{prefix}{name}");
            let value = match value {
                Value::Text(id) => self.setting_text(id),
                Value::Int(number) => Some(number.to_string()),
                Value::Float(number) => Some(number.to_string()),
                Value::Bool(flag) => Some(flag.to_string()),
                // One level: roundup_power2_divisions is a dict of its own.
                Value::Dict(inner) if prefix.is_empty() => {
                    self.settings(inner, &format!("{name}."), content)?;
                    None
                }
                _ => None,
            };
            content.settings.extend(value.map(|value| (name, value)));
        }
        Ok(())
    }

    /// A setting's name or value; nothing where it is longer than any is.
    fn setting_text(&self, id: TextId) -> Option<String> {
        let text = self.document.text(id);
        (text.len() <= MAX_SETTING).then(|| String::from_utf8_lossy(text).into_owned())
    }

    fn annotations(&mut self, list: Node<'a>, content: &mut Content) -> Result<()> {
        for value in self.visit(list)?.items() {
            let Value::Dict(dict) = value else { return Err(wrong("an annotation")) };
            let mut starts = false;
            let mut annotation = Annotation { device: DeviceId(0), time_us: 0, name: StringId(0) };
            for (key, value) in self.visit(dict)?.entries() {
                match (self.keys.get(key), value) {
                    (Key::Stage, value) => starts = self.word(value) == Key::Start,
                    (Key::Device, value) => annotation.device = device(value)?,
                    (Key::TimeUs, value) => annotation.time_us = number(value)?,
                    (Key::Name, Value::Text(id)) => annotation.name = self.string(id),
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
        if let Some(stack) = known(&self.stacks, list.id.0) {
            return Ok(stack);
        }
        self.visit(list)?;
        // Nine of ten values of a snapshot are frames in lists, and of ten lists nine have the frames of another: those
        // are looked for as they are.
        let items = list.as_slice();
        let same = items.and_then(|items| self.stacks_by_items.get(items).copied());
        let stack = match same {
            Some(stack) => stack,
            None => self.new_stack(list)?,
        };
        if let Some(items) = items.filter(|_| same.is_none()) {
            self.stacks_by_items.insert(items, stack);
        }
        remember(&mut self.stacks, list.id.0, stack);
        Ok(stack)
    }

    fn new_stack(&mut self, list: Node<'a>) -> Result<StackId> {
        let mut frames = std::mem::take(&mut self.stack_being_read);
        frames.clear();
        for value in list.items().take(MAX_FRAMES) {
            let Value::Dict(dict) = value else { return Err(wrong("a frame")) };
            frames.push(self.frame(dict)?);
        }
        let stack = self.tables.stack(&frames);
        self.stack_being_read = frames;
        Ok(stack)
    }

    fn frame(&mut self, dict: Node<'a>) -> Result<FrameId> {
        if let Some(frame) = known(&self.frames, dict.id.0) {
            return Ok(frame);
        }
        let mut frame = Frame::default();
        let mut original = None;
        for (key, value) in self.visit(dict)?.entries() {
            match (self.keys.get(key), value) {
                (Key::Name, Value::Text(id)) => frame.function = self.string(id),
                (Key::Filename, Value::Text(id)) => frame.file = self.string(id),
                (Key::Line, value) => frame.line = u32::try_from(number(value)?).unwrap_or(0),
                (Key::FxOriginalTrace, Value::Text(id)) => original = Some(id),
                _ => {}
            }
        }
        // What torch.compile made leads to a line of the program's.
        let original = original.map(|id| String::from_utf8_lossy(self.document.text(id)));
        if let Some((function, file, line)) = original.as_deref().and_then(metadata::innermost) {
            let (function, file) = (self.tables.string(function), self.tables.string(file));
            frame = Frame { function, file, line };
        }
        let frame = self.tables.frame(frame);
        remember(&mut self.frames, dict.id.0, frame);
        Ok(frame)
    }

    fn string(&mut self, id: TextId) -> StringId {
        if let Some(string) = known(&self.strings, id.0) {
            return string;
        }
        let text = self.document.text(id);
        let told = &text[..text.len().min(LONGEST_TEXT)];
        let string = self.tables.string(&String::from_utf8_lossy(told));
        remember(&mut self.strings, id.0, string);
        string
    }

    fn pool(&mut self, value: Value<'a>) -> PoolId {
        let Value::Sequence(pair) = value else { return PoolId(0) };
        let mut numbers = pair.items().take(2).map(|value| number(value).unwrap_or(0));
        let (first, second) = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
        self.tables.pool(first, second)
    }

    fn word(&self, value: Value<'a>) -> Key {
        match value {
            Value::Text(id) => self.keys.get(id),
            _ => Key::Other,
        }
    }

    /// Pays for a walk through a container's items.
    fn visit(&mut self, node: Node<'a>) -> Result<Node<'a>> {
        let cost = node.len() as u64;
        self.visits_left = self.visits_left.checked_sub(cost).ok_or(SnapshotError::Unfolds)?;
        Ok(node)
    }
}

/// What was made of the thing of that index.
fn known<T: Copy>(made: &[Option<T>], index: u32) -> Option<T> {
    made.get(index as usize).copied().flatten()
}

fn remember<T: Copy>(made: &mut Vec<Option<T>>, index: u32, thing: T) {
    let index = index as usize;
    if index >= made.len() {
        made.resize(index + 1, None);
    }
    made[index] = Some(thing);
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
        Key::Annotate => EntryAction::Annotate,
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
    if ordinal == u64::MAX {
        return Ok(DeviceId::HOST);
    }
    match u16::try_from(ordinal) {
        Ok(ordinal) if usize::from(ordinal) < MAX_DEVICES => Ok(DeviceId(ordinal)),
        _ => Err(wrong("a device")),
    }
}

fn wrong(what: &'static str) -> SnapshotError {
    SnapshotError::WrongKind(what)
}
