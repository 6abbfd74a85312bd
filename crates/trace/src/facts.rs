//! What sources tell of a process beside its environment.

use serde::{Deserialize, Serialize};

use crate::{
    ids::{Bytes, DeviceId, StringId},
    software::Software,
};

/// The variable that the recorder tells where whyoom's pool serves the process: `on`.
pub const POOL: &str = "whyoom_pool";
/// The variable that the recorder tells of each device of several that a context begins on: its UUID, without the
/// kind that stands before it.
pub const DEVICE_UUID: &str = "whyoom_device_uuid";
/// The setting that holds the version of PyTorch, as `2.15.0+cu130`, where a text names it. It is no variable of the
/// program's.
pub const TORCH_VERSION: &str = "torch_version";
/// The setting that holds how many steps a progress bar in a text counts as done.
pub const STEPS_DONE: &str = "steps_done";
/// The setting that holds a command that a text shows at a prompt, with blanks between its words.
pub const TYPED_COMMAND: &str = "typed_command";
/// How the variables of whyoom's own begin.
pub const OWN: &str = "whyoom_";

/// Something that a source tells of one process. It is no variable of the program's. Of a whole run (its command, how it
/// ended, its GPU, how long others had run) one process of it is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Fact {
    /// The run's command.
    Command {
        /// Its words, with zeros between: a word may hold blanks.
        words: StringId,
    },
    /// The signal that ended the process.
    Signal {
        /// Its number.
        signal: i32,
    },
    /// The status that the command failed with.
    Status {
        /// Not zero.
        status: i32,
    },
    /// The model of the GPU.
    Gpu {
        /// As `whyoom lab list` has it.
        model: StringId,
        /// What such a one has.
        total: Bytes,
    },
    /// How long another process had run.
    Age {
        /// Its number.
        pid: u32,
        /// So many seconds.
        seconds: u64,
    },
    /// The least that the process was seen to use of a device: where it took nothing, its context.
    MinUsage {
        /// Which.
        device: DeviceId,
        /// How much.
        bytes: Bytes,
    },
    /// All that is known is the log of another allocator than PyTorch's.
    AllocatorLog {
        /// Whose.
        allocator: StringId,
    },
    /// All that is known is a profiler's report.
    ProfilerReport {
        /// Whose.
        profiler: StringId,
    },
    /// nvidia-smi, pasted with a message, listed nobody.
    ListedNobody,
    /// Whose words stand around a message.
    LogSource {
        /// That program's.
        software: Software,
    },
    /// The program went on after the failure.
    Recovered,
    /// What people say around a message.
    Said {
        /// What it means.
        said: Said,
        /// Their words.
        words: StringId,
    },
    /// Tables in the text show GPUs that are all but empty.
    Idle {
        /// What they show.
        words: StringId,
    },
    /// All that is known is a recording without an event.
    EmptyRecording,
    /// Nothing was recorded, because the disk of the recording was full.
    DiskFull {
        /// True if `whyoom run` saw it; false if it follows from a file that could not be written to its end.
        seen: bool,
    },
    /// Nothing was recorded, because the recorder stopped.
    RecorderStopped {
        /// The recorder's reason, in words.
        reason: StringId,
    },
}

/// What a fact is of: a process has one of each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[expect(missing_docs, reason = "each is the fact of that name")]
pub enum FactKind {
    Command,
    Signal,
    Status,
    Gpu,
    Age(u32),
    MinUsage(DeviceId),
    AllocatorLog,
    ProfilerReport,
    ListedNobody,
    LogSource,
    Recovered,
    Said,
    Idle,
    EmptyRecording,
    DiskFull,
    RecorderStopped,
}

impl Fact {
    /// What it is of.
    #[must_use]
    pub fn kind(&self) -> FactKind {
        match *self {
            Self::Command { .. } => FactKind::Command,
            Self::Signal { .. } => FactKind::Signal,
            Self::Status { .. } => FactKind::Status,
            Self::Gpu { .. } => FactKind::Gpu,
            Self::Age { pid, .. } => FactKind::Age(pid),
            Self::MinUsage { device, .. } => FactKind::MinUsage(device),
            Self::AllocatorLog { .. } => FactKind::AllocatorLog,
            Self::ProfilerReport { .. } => FactKind::ProfilerReport,
            Self::ListedNobody => FactKind::ListedNobody,
            Self::LogSource { .. } => FactKind::LogSource,
            Self::Recovered => FactKind::Recovered,
            Self::Said { .. } => FactKind::Said,
            Self::Idle { .. } => FactKind::Idle,
            Self::EmptyRecording => FactKind::EmptyRecording,
            Self::DiskFull { .. } => FactKind::DiskFull,
            Self::RecorderStopped { .. } => FactKind::RecorderStopped,
        }
    }

    /// Its words, where it has any.
    #[must_use]
    pub fn words(&self) -> Option<StringId> {
        match *self {
            Self::Command { words } | Self::Said { words, .. } | Self::Idle { words } => {
                Some(words)
            }
            Self::Gpu { model, .. } => Some(model),
            Self::AllocatorLog { allocator } => Some(allocator),
            Self::ProfilerReport { profiler } => Some(profiler),
            Self::RecorderStopped { reason } => Some(reason),
            _ => None,
        }
    }
}

/// What people say around a message, or of a machine on which nothing failed yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Said {
    /// Memory grows.
    Grows,
    /// With less to do it works, or it does not fit.
    TooLarge,
    /// Each of many processes takes its share.
    EachProcess,
    /// A process takes memory of GPUs that it does not use.
    StrayContexts,
    /// Host memory could not be pinned.
    Pinned,
    /// Another process has the memory.
    OtherProcess,
    /// A process that has ended, or should have, has it.
    LeftBehind,
    /// It is in use, and no list names who has it.
    Unseen,
    /// The shared memory of processes, on the host.
    SharedMemory,
    /// A share was preallocated.
    InAdvance,
    /// A pool keeps what was freed.
    PoolKeeps,
    /// A cap, a quota or a number that is allowed.
    Cap,
    /// The heap of device-side `malloc`.
    DeviceHeap,
    /// Nobody looked at an error.
    Unchecked,
    /// It is the host's memory.
    HostMemory,
    /// It runs out in evaluation, and not in training.
    InEvaluation,
    /// A setting came too late.
    SetTooLate,
    /// A wait for the device gives it back.
    Waits,
}

impl Said {
    /// All of them.
    pub const ALL: [Self; 18] = [
        Self::Grows,
        Self::TooLarge,
        Self::EachProcess,
        Self::StrayContexts,
        Self::Pinned,
        Self::OtherProcess,
        Self::LeftBehind,
        Self::Unseen,
        Self::SharedMemory,
        Self::InAdvance,
        Self::PoolKeeps,
        Self::Cap,
        Self::DeviceHeap,
        Self::Unchecked,
        Self::HostMemory,
        Self::InEvaluation,
        Self::SetTooLate,
        Self::Waits,
    ];
}
