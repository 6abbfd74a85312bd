//! What was found: the contract between the checks and whatever shows them.

use serde::Serialize;
use whyoom_gpu::Device;

/// All devices of this machine at one moment.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct NodeReport {
    /// When, in nanoseconds since 1970.
    pub time: u64,
    /// The devices.
    pub devices: Vec<DeviceReport>,
    /// What concerns no single device: namespaces, what could not be read.
    pub notes: Vec<String>,
}

/// One device.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DeviceReport {
    /// As NVML describes it.
    pub device: Device,
    /// Who holds its memory, the most first; also those that the driver does not list but that have it
    /// open.
    pub holders: Vec<Holder>,
    /// Used memory that no listed process accounts for: used − reserved − the sum over holders.
    pub residual: u64,
    /// What deserves a word, the most important first. Empty where all is well.
    pub suspicions: Vec<Suspicion>,
}

/// A process that holds, or may hold, memory of a device.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Holder {
    /// Its number in this namespace.
    pub pid: u32,
    /// What it holds, where the driver says so.
    pub bytes: Option<u64>,
    /// How it is known.
    pub origin: Origin,
    /// Its start, in nanoseconds since 1970.
    pub started: Option<u64>,
    /// Its user.
    pub user: Option<String>,
    /// Its command line, or its name in brackets where that is hidden.
    pub command: Option<String>,
    /// The name it gives itself now (`comm`): programs rename themselves.
    pub name: Option<String>,
    /// Its parent.
    pub parent: Option<u32>,
    /// Its threads' states, the worst first.
    pub state: Option<State>,
    /// Where it runs, where its control group or its environment tells.
    pub workload: Option<Workload>,
    /// Whether its parent has gone, and whose it is.
    pub orphan: Option<Orphan>,
    /// What a recorder inside it says (`whyoom run`): nothing where there is none, or where nobody has
    /// asked it. No check fills this in.
    pub recorded: Option<Recorded>,
}

/// What the recorder inside a process says of its memory, on all its devices together.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Recorded {
    /// The recording's folder.
    pub folder: String,
    /// What its framework's allocator has given to tensors.
    pub allocated: u64,
    /// What that allocator has taken from the driver.
    pub reserved: u64,
    /// What it has taken from the driver by calls of any kind.
    pub driver: u64,
    /// How many events were recorded.
    pub events: u64,
    /// Where its live memory was asked for, the most first; empty where that was not read.
    pub places: Vec<RecordedPlace>,
}

/// A place in a program and what is live of what it asked for.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct RecordedPlace {
    /// The place, as a verdict would name it.
    pub place: String,
    /// What is live.
    pub bytes: u64,
}

/// How a holder is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Origin {
    /// The driver lists it, and it exists.
    Listed,
    /// The driver lists it, and no such process can be seen.
    Ghost,
    /// The driver does not list it, but it has the device open.
    HasDeviceOpen,
}

/// The state of a process by its threads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// Runs, sleeps or waits as processes do.
    Ordinary,
    /// Stopped by a signal.
    Stopped,
    /// In a wait that no signal ends.
    Stuck,
    /// Its first thread has ended while others live: it looks dead and is not.
    ZombieLeader,
    /// Ended, not yet collected by its parent; it holds nothing.
    Zombie,
}

/// Where a process runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Workload {
    /// A container.
    Container {
        /// Its id, shortened.
        id: String,
    },
    /// A pod of Kubernetes.
    Pod {
        /// Its uid.
        uid: String,
        /// Its container's id, shortened.
        container: Option<String>,
    },
    /// A job of Slurm.
    Slurm {
        /// The job's number.
        job: String,
    },
}

/// A process whose parent has gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Orphan {
    /// Whether it belongs to the user who asks and does not ignore the end of its terminal, as jobs
    /// under `nohup` do: only then may it be ended for them.
    pub own: bool,
}

/// Something that deserves a word.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Suspicion {
    /// What.
    pub kind: SuspicionKind,
    /// The answer in one sentence.
    pub headline: String,
    /// The numbers that show it.
    pub because: String,
    /// The memory that it explains.
    pub bytes: Option<u64>,
    /// The command that frees it, to paste; `None` where none can, and `because` says why.
    pub command: Option<String>,
    /// The processes that it is about.
    pub pids: Vec<u32>,
}

/// Kinds of suspicion, in the order in which they are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum SuspicionKind {
    /// A process whose parent has gone holds memory.
    Orphan,
    /// A process that looks dead has living threads.
    ZombieLeader,
    /// A process waits where no signal reaches it.
    Stuck,
    /// The driver names a process that cannot be seen here.
    Ghost,
    /// Memory is in use and no process is listed: probably hidden by a namespace.
    Hidden,
    /// A server of the multi-process service holds memory for its clients.
    MpsServer,
    /// A process that the driver does not list has the device open.
    Unlisted,
    /// Another user's process holds much.
    OtherTenant,
    /// Error correction, retired pages or remapped rows lower the capacity.
    LostCapacity,
    /// Used memory that nothing explains.
    Residual,
}
