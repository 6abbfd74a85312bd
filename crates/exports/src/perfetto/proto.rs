//! The messages of Perfetto's `perfetto_trace.proto`, as far as they are used here.

use prost::Message;

#[derive(Clone, PartialEq, Message)]
pub(super) struct TracePacket {
    #[prost(message, optional, tag = "6")]
    pub(super) clock_snapshot: Option<ClockSnapshot>,
    #[prost(uint64, optional, tag = "8")]
    pub(super) timestamp: Option<u64>,
    #[prost(uint32, tag = "10")]
    pub(super) trusted_packet_sequence_id: u32,
    #[prost(message, optional, tag = "11")]
    pub(super) track_event: Option<TrackEvent>,
    #[prost(message, optional, tag = "12")]
    pub(super) interned_data: Option<InternedData>,
    #[prost(uint32, tag = "13")]
    pub(super) sequence_flags: u32,
    #[prost(message, optional, tag = "60")]
    pub(super) track_descriptor: Option<TrackDescriptor>,
}

/// A value of `TracePacket.sequence_flags`: what was interned before counts no longer.
pub(super) const STATE_CLEARED: u32 = 1;
/// Another: the packet uses what was interned.
pub(super) const NEEDS_STATE: u32 = 2;

#[derive(Clone, PartialEq, Message)]
pub(super) struct ClockSnapshot {
    #[prost(message, repeated, tag = "1")]
    pub(super) clocks: Vec<Clock>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Clock {
    #[prost(uint32, tag = "1")]
    pub(super) clock_id: u32,
    #[prost(uint64, tag = "2")]
    pub(super) timestamp: u64,
}

/// The clock of the wall.
pub(super) const REALTIME: u32 = 1;
/// The clock that a trace's time stamps are of.
pub(super) const BOOTTIME: u32 = 6;

#[derive(Clone, PartialEq, Message)]
pub(super) struct TrackDescriptor {
    #[prost(uint64, tag = "1")]
    pub(super) uuid: u64,
    #[prost(string, tag = "2")]
    pub(super) name: String,
    #[prost(message, optional, tag = "3")]
    pub(super) process: Option<ProcessDescriptor>,
    #[prost(uint64, optional, tag = "5")]
    pub(super) parent_uuid: Option<u64>,
    #[prost(message, optional, tag = "8")]
    pub(super) counter: Option<CounterDescriptor>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct ProcessDescriptor {
    #[prost(int32, tag = "1")]
    pub(super) pid: i32,
    #[prost(string, tag = "6")]
    pub(super) process_name: String,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct CounterDescriptor {
    #[prost(int32, tag = "3")]
    pub(super) unit: i32,
}

/// The unit of bytes.
pub(super) const SIZE_BYTES: i32 = 3;

#[derive(Clone, PartialEq, Message)]
pub(super) struct TrackEvent {
    #[prost(message, repeated, tag = "4")]
    pub(super) debug_annotations: Vec<DebugAnnotation>,
    #[prost(int32, tag = "9")]
    pub(super) kind: i32,
    #[prost(uint64, optional, tag = "10")]
    pub(super) name_iid: Option<u64>,
    #[prost(uint64, tag = "11")]
    pub(super) track_uuid: u64,
    #[prost(int64, optional, tag = "30")]
    pub(super) counter_value: Option<i64>,
}

/// Values of `TrackEvent.type`.
pub(super) const SLICE_BEGIN: i32 = 1;
pub(super) const SLICE_END: i32 = 2;
pub(super) const INSTANT: i32 = 3;
pub(super) const COUNTER: i32 = 4;

#[derive(Clone, PartialEq, Message)]
pub(super) struct DebugAnnotation {
    #[prost(uint64, tag = "1")]
    pub(super) name_iid: u64,
    #[prost(uint64, optional, tag = "3")]
    pub(super) uint_value: Option<u64>,
    #[prost(uint64, optional, tag = "17")]
    pub(super) string_value_iid: Option<u64>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct InternedData {
    #[prost(message, repeated, tag = "2")]
    pub(super) event_names: Vec<InternedName>,
    #[prost(message, repeated, tag = "3")]
    pub(super) debug_annotation_names: Vec<InternedName>,
    #[prost(message, repeated, tag = "29")]
    pub(super) debug_annotation_string_values: Vec<InternedName>,
}

/// `EventName`, `DebugAnnotationName` and `InternedString` are the same on the wire.
#[derive(Clone, PartialEq, Message)]
pub(super) struct InternedName {
    #[prost(uint64, tag = "1")]
    pub(super) iid: u64,
    #[prost(string, tag = "2")]
    pub(super) name: String,
}
