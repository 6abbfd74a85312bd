//! What sources tell of a process beside its environment: each fact has one name, and travels as a setting.
//!
//! A program's own variables never begin with [`OWN`], so that no fact is mistaken for one of them.

/// How every fact's name begins.
pub const OWN: &str = "whyoom_";

/// Whether whyoom's pool serves the process: `on`.
pub const POOL: &str = "whyoom_pool";
/// The run's command, with zeros between its words.
pub const COMMAND: &str = "whyoom_command";
/// The signal that ended a process.
pub const SIGNAL: &str = "whyoom_signal";
/// The status that the command failed with.
pub const STATUS: &str = "whyoom_status";
/// The model of the GPU, and the bytes that such a one has.
pub const GPU: &str = "whyoom_gpu";
/// With a process's number behind it: how many seconds it had run.
pub const AGE: &str = "whyoom_age_";
/// With a device's number behind it: the least that the process was seen to use of it.
pub const USED: &str = "whyoom_used_";
/// Whose log it is, where another allocator than PyTorch's wrote it.
pub const ALLOCATOR: &str = "whyoom_allocator";
/// Whose report it is, where a profiler wrote it.
pub const PROFILER: &str = "whyoom_profiler";
/// That nvidia-smi, pasted with a message, listed nobody.
pub const LISTED: &str = "whyoom_listed";
/// Whose words stand around a message.
pub const AROUND: &str = "whyoom_framework";
/// That the program went on after the failure.
pub const RECOVERED: &str = "whyoom_recovered";
/// What people say around a message: the name of a [`Said`].
pub const SAID: &str = "whyoom_said";
/// Their words.
pub const SAID_WORDS: &str = "whyoom_said_words";
/// Tables in the text show GPUs that are all but empty.
pub const IDLE: &str = "whyoom_idle";

/// What people say around a message, or of a machine on which nothing failed yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
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
    /// A share was taken in advance.
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

    /// Its name, as a fact tells it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Grows => "grows",
            Self::TooLarge => "too-large",
            Self::EachProcess => "each-process",
            Self::StrayContexts => "stray-contexts",
            Self::Pinned => "pinned",
            Self::OtherProcess => "other-process",
            Self::LeftBehind => "left-behind",
            Self::Unseen => "unseen",
            Self::SharedMemory => "shared-memory",
            Self::InAdvance => "in-advance",
            Self::PoolKeeps => "pool-keeps",
            Self::Cap => "cap",
            Self::DeviceHeap => "device-heap",
            Self::Unchecked => "unchecked",
            Self::HostMemory => "host-memory",
            Self::InEvaluation => "in-evaluation",
            Self::SetTooLate => "set-too-late",
            Self::Waits => "waits",
        }
    }

    /// That of a name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|said| said.name() == name)
    }
}
