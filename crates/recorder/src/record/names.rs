//! Strings and frames by number: each is written to the recording once, before it is used.

use std::{
    collections::HashMap,
    hash::Hash,
    sync::{Mutex, PoisonError},
};

use foldhash::fast::FixedState;
use whyoom_recording::{Definition, Part};
use whyoom_trace::{FrameId, PoolId, StringId};

use super::part::stop;

/// What has a number.
pub(crate) struct Names {
    strings: Mutex<HashMap<Box<[u8]>, StringId, FixedState>>,
    frames: Mutex<HashMap<(StringId, StringId, u32), FrameId, FixedState>>,
    pools: Mutex<HashMap<u64, PoolId, FixedState>>,
}

impl Names {
    pub(crate) fn new() -> Self {
        let hasher = FixedState::default;
        Self {
            strings: Mutex::new(HashMap::with_hasher(hasher())),
            frames: Mutex::new(HashMap::with_hasher(hasher())),
            pools: Mutex::new(HashMap::with_hasher(hasher())),
        }
    }

    /// The number of a text. 0 is the empty one.
    pub(crate) fn string(&self, part: &Part, text: &[u8]) -> StringId {
        if text.is_empty() {
            return StringId(0);
        }
        let mut strings = self.strings.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(id) = strings.get(text) {
            return *id;
        }
        let id = StringId(strings.len() as u32 + 1);
        define(part, Definition::String { id, text });
        strings.insert(text.into(), id);
        id
    }

    /// The same; that of the empty one for a new text that ring mode has no room for.
    pub(crate) fn string_within_limit(&self, part: &Part, text: &[u8]) -> StringId {
        if part.has_room() {
            return self.string(part, text);
        }
        let strings = self.strings.lock().unwrap_or_else(PoisonError::into_inner);
        strings.get(text).copied().unwrap_or(StringId(0))
    }

    /// The number of a frame.
    pub(crate) fn frame(
        &self,
        part: &Part,
        function: StringId,
        file: StringId,
        line: u32,
    ) -> FrameId {
        let mut frames = self.frames.lock().unwrap_or_else(PoisonError::into_inner);
        *entry(&mut frames, (function, file, line), |number| {
            let id = FrameId(number);
            define(part, Definition::Frame { id, function, file, line });
            id
        })
    }

    /// The number of a pool: of the driver's, which names it by its handle, or of a capture, by its number.
    pub(crate) fn pool(&self, part: &Part, handle: u64) -> PoolId {
        let mut pools = self.pools.lock().unwrap_or_else(PoisonError::into_inner);
        *entry(&mut pools, handle, |number| {
            let id = PoolId(number);
            define(part, Definition::Pool { id, first: 0, second: handle });
            id
        })
    }
}

fn entry<K: Eq + Hash, V>(
    map: &mut HashMap<K, V, FixedState>,
    key: K,
    make: impl FnOnce(u32) -> V,
) -> &mut V {
    let next = map.len() as u32 + 1;
    map.entry(key).or_insert_with(|| make(next))
}

/// Writes a definition; where that is refused, recording ends.
pub(crate) fn define(part: &Part, definition: Definition<'_>) {
    if let Err(reason) = part.define(definition) {
        stop(&reason);
    }
}
