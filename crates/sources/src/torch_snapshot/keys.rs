//! The words of a snapshot, looked up once for each distinct string of the file.

use crate::pickle::{Document, TextId};

/// A word that means something in a snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Key {
    // The file.
    Segments,
    DeviceTraces,
    HostSegments,
    HostTraces,
    AllocatorSettings,
    ExternalAnnotations,
    // A segment.
    Device,
    Address,
    TotalSize,
    Stream,
    SegmentType,
    SegmentPoolId,
    IsExpandable,
    Blocks,
    // A block.
    Size,
    RequestedSize,
    State,
    Frames,
    History,
    RealSize,
    // A frame.
    Name,
    Filename,
    Line,
    FxOriginalTrace,
    // A trace entry.
    Action,
    Addr,
    TimeUs,
    PoolId,
    UserMetadata,
    CompileContext,
    // An annotation.
    Stage,
    // Values.
    Small,
    ActiveAllocated,
    ActivePendingFree,
    Alloc,
    FreeRequested,
    FreeCompleted,
    SegmentAlloc,
    SegmentFree,
    SegmentMap,
    SegmentUnmap,
    Snapshot,
    Oom,
    Annotate,
    Start,
    /// A word of no meaning here.
    Other,
}

impl Key {
    fn of(text: &[u8]) -> Self {
        match text {
            b"segments" => Self::Segments,
            b"device_traces" => Self::DeviceTraces,
            b"host_segments" => Self::HostSegments,
            b"host_traces" => Self::HostTraces,
            b"allocator_settings" => Self::AllocatorSettings,
            b"external_annotations" => Self::ExternalAnnotations,
            b"device" => Self::Device,
            b"address" => Self::Address,
            b"total_size" => Self::TotalSize,
            b"stream" => Self::Stream,
            b"segment_type" => Self::SegmentType,
            b"segment_pool_id" => Self::SegmentPoolId,
            b"is_expandable" => Self::IsExpandable,
            b"blocks" => Self::Blocks,
            b"size" => Self::Size,
            b"requested_size" => Self::RequestedSize,
            b"state" => Self::State,
            b"frames" => Self::Frames,
            b"history" => Self::History,
            b"real_size" => Self::RealSize,
            b"name" => Self::Name,
            b"filename" => Self::Filename,
            b"line" => Self::Line,
            b"fx_original_trace" => Self::FxOriginalTrace,
            b"action" => Self::Action,
            // A failure has what the device had free in place of an address.
            b"addr" | b"device_free" => Self::Addr,
            b"time_us" => Self::TimeUs,
            b"pool_id" => Self::PoolId,
            b"user_metadata" => Self::UserMetadata,
            b"compile_context" => Self::CompileContext,
            b"stage" => Self::Stage,
            b"small" => Self::Small,
            b"active_allocated" => Self::ActiveAllocated,
            // Releases before 2.0 called it this.
            b"active_pending_free" | b"active_awaiting_free" => Self::ActivePendingFree,
            b"alloc" => Self::Alloc,
            b"free_requested" => Self::FreeRequested,
            b"free_completed" | b"free" => Self::FreeCompleted,
            b"segment_alloc" => Self::SegmentAlloc,
            b"segment_free" => Self::SegmentFree,
            b"segment_map" => Self::SegmentMap,
            b"segment_unmap" => Self::SegmentUnmap,
            b"snapshot" => Self::Snapshot,
            b"oom" => Self::Oom,
            b"annotate" => Self::Annotate,
            b"START" => Self::Start,
            _ => Self::Other,
        }
    }
}

/// The meaning of every string of a document, by its id.
pub(super) struct Keys(Vec<Key>);

impl Keys {
    pub(super) fn of(document: &Document) -> Self {
        let count = document.text_count() as u32;
        Self((0..count).map(|index| Key::of(document.text(TextId(index)))).collect())
    }

    pub(super) fn get(&self, id: TextId) -> Key {
        self.0[id.0 as usize]
    }
}
