//! What is told of an event in its row.

use std::collections::HashMap;

use ::parquet::data_type::ByteArray;
use foldhash::fast::RandomState;
use whyoom_memory::{Change, LayerKind, Step, call_site};
use whyoom_trace::{Action, DeviceId, Event, PoolId, StackId, Tables};

use super::words::Words;
use crate::{
    run::{Run, SpaceKey},
    stacks::{ByStack, place_text, stack_text},
};

/// What is told of one event, or of one change that follows from it.
pub(super) struct Facts {
    pub(super) number: u64,
    pub(super) event: Event,
    pub(super) process: Option<ByteArray>,
    /// The ordinal; −1 is the host.
    pub(super) device: Option<i32>,
    pub(super) stream: u64,
    pub(super) pool: Option<ByteArray>,
    pub(super) action: ByteArray,
    pub(super) kind: Option<ByteArray>,
    pub(super) layer: Option<ByteArray>,
    pub(super) address: Option<u64>,
    pub(super) size: Option<u64>,
    pub(super) requested: Option<u64>,
    pub(super) change: Option<i64>,
    pub(super) allocated: Option<u64>,
    pub(super) reserved: Option<u64>,
    pub(super) category: Option<ByteArray>,
    pub(super) module: Option<ByteArray>,
    pub(super) place: Option<ByteArray>,
    pub(super) stack_id: Option<u64>,
    pub(super) stack: Option<ByteArray>,
    pub(super) at: Option<ByteArray>,
    pub(super) text: Option<ByteArray>,
    pub(super) inferred: bool,
}

impl Facts {
    /// The facts of an event and of a change that it made, in the space that the event names unless the
    /// change is of another.
    pub(super) fn of(
        event: &Event,
        change: Option<&Change>,
        run: &Run,
        (named, tables): (SpaceKey, &Tables),
        texts: &mut Texts,
    ) -> Self {
        let words = match change {
            // What follows from an event is not that event: a free that nobody saw.
            Some(change) if change.unseen => freed_unseen(change),
            _ => Words::of(&event.action),
        };
        let space = change.map_or(named, |change| change.space);
        let test_trace = layer(event, change, run);
        let figures = test_trace.and_then(|test_trace| run.totals(space, test_trace.layer()));
        let stack = change.map_or(event.stack, |change| change.block.stack);
        let held = change.map(|change| change.block);
        let of_memory = change.is_some();
        Self {
            number: run.number(),
            event: *event,
            process: Some(texts.process(space, tables)),
            device: device(space.1),
            stream: held.map_or(event.origin.stream, |held| held.stream).0,
            pool: texts.pool(held.map_or(event.origin.pool, |held| held.pool), tables),
            action: texts.word(words.action),
            kind: words.kind.as_deref().map(|word| texts.word(word)),
            layer: test_trace.map(|test_trace| texts.word(test_trace.name())),
            address: change.map(|change| change.address.0).or(words.address),
            size: held.map(|held| held.size.0).or(words.size),
            requested: held.map(|held| held.requested.0).or(words.requested),
            change: change.map(Change::bytes),
            allocated: figures.map(|totals| totals.allocated.0),
            reserved: figures.map(|totals| totals.reserved.0),
            category: of_memory.then(|| texts.word(run.model.category(stack).name())),
            module: texts.modules.get(tables, held.map_or(stack, |held| held.module_stack())),
            place: (of_memory || stack != StackId(0)).then(|| texts.places.get(tables, stack)),
            stack_id: (stack != StackId(0)).then_some(stack.0.into()),
            stack: (stack != StackId(0)).then(|| texts.stacks.get(tables, stack)),
            at: change
                .filter(|change| change.step != Step::Taken)
                .and_then(|_| texts.at.get(tables, event.stack)),
            text: words.text.map(|id| text_of(&event.action, tables.text(id), tables)),
            inferred: change.is_some_and(|change| change.unseen),
        }
    }
}

/// A free that no event says.
fn freed_unseen(change: &Change) -> Words {
    let action = match change.layer {
        LayerKind::Blocks => "block-free",
        LayerKind::Driver => "free",
    };
    Words { action, ..Words::default() }
}

/// Whose memory a row is about.
#[derive(Clone, Copy)]
enum About {
    Memory(LayerKind),
    /// What a caching allocator's blocks lie in.
    Segments,
}

impl About {
    /// The layer that the row's figures are of.
    fn layer(self) -> LayerKind {
        match self {
            Self::Memory(layer) => layer,
            Self::Segments => LayerKind::Blocks,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Memory(LayerKind::Blocks) => "blocks",
            Self::Memory(LayerKind::Driver) => "driver",
            Self::Segments => "segments",
        }
    }
}

fn layer(event: &Event, change: Option<&Change>, run: &Run) -> Option<About> {
    if let Some(change) = change {
        return Some(About::Memory(change.layer));
    }
    match event.action {
        Action::SegmentAlloc { .. }
        | Action::SegmentFree { .. }
        | Action::SegmentMap { .. }
        | Action::SegmentUnmap { .. } => Some(About::Segments),
        Action::BlockFreeRequested { .. }
        | Action::BlockFree { .. }
        | Action::BlockLabel { .. } => Some(About::Memory(LayerKind::Blocks)),
        // The state that history starts from may be its peak.
        Action::HistoryStart => {
            let space = (event.origin.process, event.origin.device);
            let layers = [LayerKind::Blocks, LayerKind::Driver];
            let known = layers.into_iter().find(|layer| run.totals(space, *layer).is_some());
            known.map(About::Memory)
        }
        // What a pool keeps may go now.
        Action::Alloc { .. }
        | Action::Free { .. }
        | Action::Create { .. }
        | Action::Release { .. }
        | Action::Map { .. }
        | Action::Unmap { .. }
        | Action::PoolTrim { .. }
        | Action::LimitSet { .. }
        | Action::Synchronize { .. } => Some(About::Memory(LayerKind::Driver)),
        _ => None,
    }
}

fn device(device: DeviceId) -> Option<i32> {
    match device {
        DeviceId::HOST => Some(-1),
        DeviceId::UNKNOWN => None,
        DeviceId(ordinal) => Some(ordinal.into()),
    }
}

/// A setting is its name and its value; everything else is one string.
fn text_of(action: &Action, text: &str, tables: &Tables) -> ByteArray {
    match *action {
        Action::Setting { name, .. } => format!("{}={text}", tables.text(name)).as_str().into(),
        _ => text.into(),
    }
}

/// Texts that come again and again, made once.
pub(super) struct Texts {
    pub(super) stacks: ByStack<ByteArray>,
    pub(super) places: ByStack<ByteArray>,
    pub(super) at: ByStack<Option<ByteArray>>,
    modules: ByStack<Option<ByteArray>>,
    words: HashMap<String, ByteArray, RandomState>,
    pools: HashMap<PoolId, ByteArray, RandomState>,
    process: Option<(SpaceKey, ByteArray)>,
}

impl Default for Texts {
    fn default() -> Self {
        Self {
            stacks: ByStack::new(|tables, stack| stack_text(tables, stack).as_str().into()),
            places: ByStack::new(|tables, stack| call_site(tables, stack).as_str().into()),
            at: ByStack::new(|tables, stack| {
                place_text(tables, stack).map(|text| text.as_str().into())
            }),
            modules: ByStack::new(|tables, stack| {
                tables.module(stack).map(|module| module.name.into())
            }),
            words: HashMap::default(),
            pools: HashMap::default(),
            process: None,
        }
    }
}

impl Texts {
    /// A word of the vocabulary: there are few.
    fn word(&mut self, word: &str) -> ByteArray {
        if let Some(known) = self.words.get(word) {
            return known.clone();
        }
        let made = ByteArray::from(word);
        self.words.insert(word.to_owned(), made.clone());
        made
    }

    /// A pool's two numbers; nothing for the default pool.
    fn pool(&mut self, pool: PoolId, tables: &Tables) -> Option<ByteArray> {
        if pool == PoolId(0) {
            return None;
        }
        let made = self.pools.entry(pool).or_insert_with(|| {
            let (first, second) = tables.pool_name(pool);
            format!("{first}:{second}").as_str().into()
        });
        Some(made.clone())
    }

    /// The name of a process. Events of one process follow each other: the last one is kept.
    fn process(&mut self, space: SpaceKey, tables: &Tables) -> ByteArray {
        match &self.process {
            Some((known, name)) if known.0 == space.0 => name.clone(),
            _ => {
                let name = ByteArray::from(tables.process_name(space.0));
                self.process = Some((space, name.clone()));
                name
            }
        }
    }
}
