//! The event: the one thing that every source emits and every reader understands.
//!
//! An event is small and `Copy`; whatever is large or repeats (stacks, strings, pools) is interned
//! in [`crate::Tables`] and named here by its id. Nothing in an event refers to another event, so a
//! stream of any length can be read in one pass.

use serde::{Deserialize, Serialize};

use crate::ids::{
    Address, Bytes, ContextId, DeviceId, HandleId, PoolId, ProcessId, ResultCode, StackId,
    StreamId, StringId, ThreadId, Time,
};
use crate::{facts::Fact, software::Software};

/// Something that happened, where, and how it ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Event {
    /// When it happened.
    pub time: Time,
    /// Who did it, and on what.
    pub origin: Origin,
    /// The call stack that led to it.
    pub stack: StackId,
    /// What the call returned. An allocation that failed is an event with its error here.
    pub result: ResultCode,
    /// What happened.
    pub action: Action,
}

/// Who acted, and on what.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Origin {
    /// The process that acted.
    pub process: ProcessId,
    /// The thread that acted.
    pub thread: ThreadId,
    /// The device acted on, or the host.
    pub device: DeviceId,
    /// The context that was current.
    pub context: ContextId,
    /// The stream that the action is ordered on.
    pub stream: StreamId,
    /// The allocator's pool that the action belongs to.
    pub pool: PoolId,
}

/// What happened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Action {
    /// Everything before this restored the state that recording started from; history follows.
    #[default]
    HistoryStart,

    /// Memory was taken from the driver.
    Alloc {
        /// Which interface it came through.
        kind: MemoryKind,
        /// Where it lies.
        address: Address,
        /// How much was taken.
        size: Bytes,
    },
    /// Memory was given back to the driver.
    Free {
        /// Which interface it went through.
        kind: MemoryKind,
        /// Where it lay.
        address: Address,
    },
    /// A stream-ordered pool was trimmed.
    PoolTrim {
        /// What it was asked to keep.
        keep: Bytes,
    },

    /// Virtual addresses were reserved.
    Reserve {
        /// The first address.
        address: Address,
        /// The length of the range.
        size: Bytes,
    },
    /// A reserved range of virtual addresses was given up.
    Unreserve {
        /// The first address.
        address: Address,
        /// The length of the range.
        size: Bytes,
    },
    /// Physical memory was created behind a handle.
    Create {
        /// The handle.
        handle: HandleId,
        /// Its size.
        size: Bytes,
    },
    /// A handle of physical memory was released.
    Release {
        /// The handle.
        handle: HandleId,
    },
    /// Physical memory was mapped at an address. One handle may be mapped at several.
    Map {
        /// The first address.
        address: Address,
        /// The length of the mapping.
        size: Bytes,
        /// What is mapped there.
        handle: HandleId,
    },
    /// A mapping was taken away.
    Unmap {
        /// The first address.
        address: Address,
        /// The length of the mapping.
        size: Bytes,
    },

    /// A context was created on the device.
    ContextCreate,
    /// The context was destroyed.
    ContextDestroy,
    /// A limit was set.
    LimitSet {
        /// Which.
        limit: Limit,
        /// To what; bytes, except where the limit counts something else.
        value: u64,
    },
    /// A kernel launch failed, a copy or fill, or a call of [`driver_call_purpose`](crate::driver_call_purpose) that the
    /// driver had no memory for; the event's result says how.
    LaunchFailed {
        /// The kernel's name; of another call the driver's name for it: `cuMemcpyHtoD_v2`.
        kernel: StringId,
        /// The dynamic shared memory that the launch asked for. For another call, the size in its arguments, or 0.
        shared_memory: Bytes,
    },
    /// Code was loaded onto the device: a module or a library.
    CodeLoad {
        /// The module or library.
        handle: HandleId,
    },
    /// Code was unloaded.
    CodeUnload {
        /// The module or library.
        handle: HandleId,
    },
    /// The host waited for the device.
    Synchronize {
        /// For how much of it.
        scope: SyncScope,
    },

    /// A caching allocator took a segment from the driver.
    SegmentAlloc {
        /// Where it starts.
        address: Address,
        /// How long it is.
        size: Bytes,
        /// Which requests it serves.
        class: SizeClass,
        /// Whether it can grow.
        growth: SegmentGrowth,
    },
    /// A caching allocator gave a segment back.
    SegmentFree {
        /// Where it started.
        address: Address,
    },
    /// An expandable segment grew by mapping memory.
    SegmentMap {
        /// Where the new part starts.
        address: Address,
        /// How long it is.
        size: Bytes,
        /// Which requests the segment serves.
        class: SizeClass,
    },
    /// An expandable segment shrank.
    SegmentUnmap {
        /// Where the part that went started.
        address: Address,
        /// How long it was.
        size: Bytes,
    },
    /// A caching allocator gave a block to the program.
    BlockAlloc {
        /// Where it starts.
        address: Address,
        /// What the program asked for.
        requested: Bytes,
        /// What it cost: rounded up, and grown by what was too small to split off.
        size: Bytes,
    },
    /// The program gave a block back; streams that used it may hold it a while longer.
    BlockFreeRequested {
        /// Where it starts.
        address: Address,
    },
    /// A block is free to be used again.
    BlockFree {
        /// Where it started.
        address: Address,
    },

    /// What a block is was told after it was made: the event's stack carries the module, nothing else.
    BlockLabel {
        /// Where the block starts.
        address: Address,
        /// What the tensors in it need; nothing where the source does not tell.
        requested: Bytes,
    },

    /// An allocation failed because memory ran out.
    OutOfMemory {
        /// What was asked for; nothing where the source does not tell.
        requested: Bytes,
    },
    /// A message that tells of a failure.
    Symptom {
        /// What it tells.
        symptom: Symptom,
        /// Whose message it is.
        software: Software,
        /// Its text.
        text: StringId,
    },
    /// The program said where it is.
    Mark {
        /// In which kind of sequence.
        kind: MarkKind,
        /// The mark's name.
        name: StringId,
    },
    /// A setting in force, as the program's allocator reported it.
    Setting {
        /// Its name.
        name: StringId,
        /// Its value.
        value: StringId,
    },
    /// A counter was read.
    Sample {
        /// Which.
        counter: Counter,
        /// Its value.
        bytes: Bytes,
    },
    /// A process was seen to hold device memory.
    Holder {
        /// Its number, as the observer saw it.
        pid: u32,
        /// What it held.
        bytes: Bytes,
        /// What it is called, as people know it; empty where nobody can tell.
        command: StringId,
        /// How it stands.
        standing: ProcessState,
    },
    /// The process ended in order. What it still held then, the driver took back.
    Exit,
    /// A source tells something of the process that is no setting. No recording holds it: readers make it.
    Fact {
        /// What.
        fact: Fact,
    },
}

/// How a process that holds memory stands.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum ProcessState {
    /// The source does not tell.
    #[default]
    Untold,
    /// It lives, and its parent too.
    Runs,
    /// Its parent has ended.
    Orphan,
    /// Its first thread has ended, others live on.
    ZombieLeader,
    /// It is in uninterruptible sleep.
    Stuck,
    /// The driver lists it, and there is no such process.
    Ghost,
    /// It waits in the kernel where no other signal than 9 reaches it.
    Hangs,
    /// It belongs to the run: it was recorded too, and its command is its process's name.
    Recorded,
}

/// The interface of the driver that memory came through.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum MemoryKind {
    /// Plain device memory.
    Device,
    /// Memory of a stream-ordered pool.
    StreamOrdered,
    /// An array for textures.
    Array,
    /// Managed memory, which moves between host and device.
    Managed,
    /// Page-locked host memory.
    Pinned,
    /// Host memory that was page-locked after the fact.
    Registered,
    /// Another process's memory, opened here.
    Imported,
}

/// Limits of a context or a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Limit {
    /// The heap of in-kernel allocation.
    DeviceHeap,
    /// The stack of each device thread.
    Stack,
    /// The buffer of in-kernel printing.
    Printf,
    /// What a stream-ordered pool may keep when nothing uses it.
    ReleaseThreshold,
}

/// What a synchronize waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum SyncScope {
    /// Everything on the device.
    Device,
    /// One stream.
    Stream,
    /// One event.
    Event,
}

/// Which requests a segment serves: PyTorch keeps those up to 1 MiB apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SizeClass {
    /// Requests of at most 1 MiB.
    Small,
    /// Larger requests.
    Large,
}

/// Whether a segment can grow after it was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SegmentGrowth {
    /// It keeps the size it was made with.
    Fixed,
    /// Memory is mapped into it and out of it.
    Expandable,
}

/// What a mark stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum MarkKind {
    /// A new iteration starts.
    Iteration,
    /// A new phase starts.
    Phase,
}

/// A quantity that something reported about itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Counter {
    /// What was asked for.
    Requested,
    /// The device's capacity.
    DeviceTotal,
    /// What the driver says is free.
    DeviceFree,
    /// What this process uses, with what its framework does not know of.
    ProcessUsed,
    /// What the framework's allocator has given to tensors.
    Allocated,
    /// What the framework's allocator has taken from the driver.
    Reserved,
    /// Reserved, but given to nobody.
    Cached,
    /// Free bytes inside private pools (PyTorch's message calls them allocated).
    PrivateFree,
    /// The cap that a fraction or a shim puts on the process.
    Allowed,
    /// What a server or framework wanted to take in advance.
    Preallocation,
    /// What the work would need.
    Needed,
    /// What the share preallocated leaves for the work.
    RoomLeft,
    /// The limit of host memory.
    HostLimit,
    /// Host memory that the process held.
    HostResident,
    /// What a stream-ordered pool has given to the program.
    PoolUsed,
    /// What a stream-ordered pool holds.
    PoolReserved,
    /// What a stream-ordered pool keeps when nothing uses it.
    PoolThreshold,
    /// The limit of the heap of in-kernel allocation.
    DeviceHeap,
}

/// What a message tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Symptom {
    /// The device ran out of memory.
    DeviceOutOfMemory,
    /// A library could not get memory for itself and said so in its own words.
    LibraryAllocFailed,
    /// A library found no algorithm or could not start, which is often caused by lack of memory.
    IndirectOom,
    /// The report of an out-of-memory itself failed.
    ReportFailed,
    /// A size that no machine has was asked for: a bug in the program, not out of memory.
    BogusSize,
    /// A cap was reached, not the device.
    LimitReached,
    /// A server could not take its share in advance.
    PreallocationFailed,
    /// The share preallocated leaves no room for the work inside it.
    ShareTooSmall,
    /// The share preallocated leaves no room for the work outside it.
    ShareTooLarge,
    /// Another process changed the device's free memory while it was being measured.
    FreeMemoryChanged,
    /// Pinned host memory ran out.
    PinnedOutOfMemory,
    /// The program could not get host memory.
    HostOutOfMemory,
    /// The kernel killed the program because host memory ran out.
    HostKilled,
    /// The program was killed by signal 9; the kernel's log would say whether for host memory.
    Killed,
    /// A setting was changed after it had been read.
    SettingTooLate,
    /// By the program's own account, what it is to do needs more than there is.
    WorkTooLarge,
    /// What is in use rose from one reading to the next until memory ran out.
    UsageGrew,
    /// Memory is still in use though the program that took it is said to have ended.
    HeldAfterEnd,
    /// No failure is in the text; somebody describes what is wrong.
    Described,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_stays_small() {
        // A hundred million of them pass through one loop: a variant that grows this costs time.
        assert!(size_of::<Event>() <= 88, "{}", size_of::<Event>());
    }
}
