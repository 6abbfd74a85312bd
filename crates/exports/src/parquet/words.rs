//! The words that a row has for an event: those of the events' own vocabulary.

use std::borrow::Cow;

use serde::Serialize;
use whyoom_trace::{Action, MemoryKind, SizeClass, StringId, SyncScope};

/// An action in words, and the numbers and strings that it carries.
#[derive(Default)]
pub(super) struct Words {
    pub(super) action: &'static str,
    pub(super) kind: Option<Cow<'static, str>>,
    pub(super) address: Option<u64>,
    pub(super) size: Option<u64>,
    pub(super) requested: Option<u64>,
    pub(super) text: Option<StringId>,
}

impl Words {
    pub(super) fn of(action: &Action) -> Self {
        let mut words = Self { action: name(action), ..Self::default() };
        match *action {
            Action::Alloc { kind, address, size } => {
                words.kind = Some(memory_kind(kind));
                (words.address, words.size) = (Some(address.0), Some(size.0));
                words.requested = Some(size.0);
            }
            Action::Free { kind, address } => {
                (words.kind, words.address) = (Some(memory_kind(kind)), Some(address.0));
            }
            Action::Reserve { address, size }
            | Action::Unreserve { address, size }
            | Action::Unmap { address, size }
            | Action::SegmentUnmap { address, size }
            | Action::Map { address, size, .. } => {
                (words.address, words.size) = (Some(address.0), Some(size.0));
            }
            Action::Create { size, .. } => words.size = Some(size.0),
            Action::PoolTrim { keep } => words.size = Some(keep.0),
            Action::LimitSet { limit, value } => {
                (words.kind, words.size) = (Some(variant(&limit)), Some(value));
            }
            Action::LaunchFailed { kernel, shared_memory } => {
                (words.text, words.size) = (Some(kernel), Some(shared_memory.0));
            }
            Action::Synchronize { scope } => words.kind = Some(sync_scope(scope)),
            Action::SegmentAlloc { address, size, class, .. }
            | Action::SegmentMap { address, size, class } => {
                words.kind = Some(size_class(class));
                (words.address, words.size) = (Some(address.0), Some(size.0));
            }
            Action::BlockAlloc { address, requested, size } => {
                (words.address, words.size) = (Some(address.0), Some(size.0));
                words.requested = Some(requested.0);
            }
            Action::SegmentFree { address }
            | Action::BlockFreeRequested { address }
            | Action::BlockFree { address } => words.address = Some(address.0),
            Action::BlockLabel { address, requested } => {
                (words.address, words.requested) = (Some(address.0), Some(requested.0));
            }
            Action::OutOfMemory { requested } => words.requested = Some(requested.0),
            Action::Symptom { symptom, text, .. } => {
                (words.kind, words.text) = (Some(variant(&symptom)), Some(text));
            }
            Action::Mark { kind, name } => {
                (words.kind, words.text) = (Some(variant(&kind)), Some(name));
            }
            Action::Setting { value, .. } => words.text = Some(value),
            Action::Fact { fact } => {
                (words.kind, words.text) = (Some(variant(&fact)), fact.words());
            }
            Action::Sample { counter, bytes } => {
                (words.kind, words.size) = (Some(variant(&counter)), Some(bytes.0));
            }
            Action::Holder { bytes, command, .. } => {
                (words.size, words.text) = (Some(bytes.0), Some(command));
            }
            _ => {}
        }
        words
    }
}

/// The action's name as the events' own schema writes it. There are too many events to ask serde each
/// time; a test compares.
fn name(action: &Action) -> &'static str {
    match action {
        Action::HistoryStart => "history-start",
        Action::Alloc { .. } => "alloc",
        Action::Free { .. } => "free",
        Action::PoolTrim { .. } => "pool-trim",
        Action::Reserve { .. } => "reserve",
        Action::Unreserve { .. } => "unreserve",
        Action::Create { .. } => "create",
        Action::Release { .. } => "release",
        Action::Map { .. } => "map",
        Action::Unmap { .. } => "unmap",
        Action::ContextCreate => "context-create",
        Action::ContextDestroy => "context-destroy",
        Action::LimitSet { .. } => "limit-set",
        Action::LaunchFailed { .. } => "launch-failed",
        Action::CodeLoad { .. } => "code-load",
        Action::CodeUnload { .. } => "code-unload",
        Action::Synchronize { .. } => "synchronize",
        Action::SegmentAlloc { .. } => "segment-alloc",
        Action::SegmentFree { .. } => "segment-free",
        Action::SegmentMap { .. } => "segment-map",
        Action::SegmentUnmap { .. } => "segment-unmap",
        Action::BlockAlloc { .. } => "block-alloc",
        Action::BlockFreeRequested { .. } => "block-free-requested",
        Action::BlockFree { .. } => "block-free",
        Action::BlockLabel { .. } => "block-label",
        Action::OutOfMemory { .. } => "out-of-memory",
        Action::Symptom { .. } => "symptom",
        Action::Mark { .. } => "mark",
        Action::Setting { .. } => "setting",
        Action::Fact { .. } => "fact",
        Action::Sample { .. } => "sample",
        Action::Holder { .. } => "holder",
        Action::Exit => "exit",
        // What a later version of the vocabulary adds.
        _ => "other",
    }
}

fn memory_kind(kind: MemoryKind) -> Cow<'static, str> {
    match kind {
        MemoryKind::Device => "device".into(),
        MemoryKind::StreamOrdered => "stream-ordered".into(),
        other => variant(&other),
    }
}

fn size_class(class: SizeClass) -> Cow<'static, str> {
    match class {
        SizeClass::Small => "small".into(),
        SizeClass::Large => "large".into(),
    }
}

fn sync_scope(scope: SyncScope) -> Cow<'static, str> {
    match scope {
        SyncScope::Device => "device".into(),
        SyncScope::Stream => "stream".into(),
        other => variant(&other),
    }
}

/// The name of a variant, as the events' own schema writes it: kebab-case.
fn variant(value: &impl Serialize) -> Cow<'static, str> {
    use serde_json::Value;
    match serde_json::to_value(value) {
        Ok(Value::String(name)) => name.into(),
        Ok(Value::Object(fields)) => fields.into_iter().next().unwrap_or_default().0.into(),
        _ => "".into(),
    }
}

#[cfg(test)]
mod tests {
    use whyoom_trace::{Address, Bytes, HandleId, Limit};

    use super::*;

    #[test]
    fn words_are_those_of_the_events() {
        let (address, size, handle) = (Address(7), Bytes(9), HandleId(1));
        let class = SizeClass::Small;
        let kinds = [MemoryKind::Device, MemoryKind::StreamOrdered, MemoryKind::Managed];
        for kind in kinds {
            assert_eq!(memory_kind(kind), variant(&kind));
        }
        assert_eq!(size_class(class), variant(&class));
        assert_eq!(sync_scope(SyncScope::Event), variant(&SyncScope::Event));
        for action in [
            Action::HistoryStart,
            Action::Alloc { kind: kinds[0], address, size },
            Action::Free { kind: kinds[0], address },
            Action::PoolTrim { keep: size },
            Action::Reserve { address, size },
            Action::Unreserve { address, size },
            Action::Create { handle, size },
            Action::Release { handle },
            Action::Map { address, size, handle },
            Action::Unmap { address, size },
            Action::ContextCreate,
            Action::ContextDestroy,
            Action::LimitSet { limit: Limit::Stack, value: 1 },
            Action::LaunchFailed { kernel: StringId(0), shared_memory: size },
            Action::CodeLoad { handle },
            Action::CodeUnload { handle },
            Action::Synchronize { scope: SyncScope::Device },
            Action::SegmentFree { address },
            Action::SegmentMap { address, size, class },
            Action::SegmentUnmap { address, size },
            Action::BlockAlloc { address, requested: size, size },
            Action::BlockFreeRequested { address },
            Action::BlockFree { address },
            Action::OutOfMemory { requested: size },
            Action::Exit,
        ] {
            assert_eq!(name(&action), variant(&action));
        }
    }
}
