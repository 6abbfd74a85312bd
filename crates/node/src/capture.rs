//! Everything that is looked at, as plain data: what the driver answered, and what the kernel tells of
//! the processes that use it.

use serde::{Deserialize, Serialize};
use whyoom_gpu::{Device, Silent};

/// The number that the kernel gives to its first namespace of process numbers (`PROC_PID_INIT_INO`).
/// Comparing with process 1 would not do: in a container that is the container's own.
const FIRST_NAMESPACE: u64 = 0xEFFF_FFFC;

/// This machine at one moment.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Capture {
    /// When, in nanoseconds since 1970.
    pub time: u64,
    /// The devices, as NVML describes them.
    pub devices: Vec<Device>,
    /// The number in each device's file name, in the same order.
    pub minors: Vec<Option<u32>>,
    /// Devices that do not answer.
    pub silent: Vec<Silent>,
    /// Who looked.
    pub viewer: Viewer,
    /// The processes that the driver lists or that have a device open, by number.
    pub processes: Vec<Process>,
    /// Processes that the driver lists and that have no entry in /proc.
    pub absent: Vec<Absent>,
    /// Processes that have the driver's library loaded and nothing else to show for it. Looked for
    /// only where memory is in use that nobody accounts for.
    pub library_users: Vec<u32>,
    /// Failures that the driver wrote to the kernel's log; `None` where the log cannot be read.
    pub xids: Option<Vec<Xid>>,
    /// What could not be read.
    pub unread: Unread,
}

impl Capture {
    /// A process by its number.
    #[must_use]
    pub fn process(&self, pid: u32) -> Option<&Process> {
        let found = self.processes.binary_search_by_key(&pid, |process| process.pid);
        found.ok().and_then(|index| self.processes.get(index))
    }
}

/// Who looked: what can be seen depends on it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Viewer {
    /// Its own number.
    pub pid: u32,
    /// Its user.
    pub uid: Option<u32>,
    /// The namespace of process numbers that it is in, by the kernel's number.
    pub pid_namespace: Option<u64>,
    /// Whether /proc tells of another namespace than its own: the numbers in it are not the driver's.
    pub foreign_proc: bool,
    /// Whether /proc hides other users' processes.
    pub processes_hidden: bool,
    /// Whether this is a Linux under Windows, whose own programs cannot be seen from here.
    pub under_windows: bool,
}

impl Viewer {
    /// Whether this is the machine's own namespace of process numbers; `None` where it cannot be told.
    #[must_use]
    pub fn in_first_namespace(&self) -> Option<bool> {
        self.pid_namespace.map(|namespace| namespace == FIRST_NAMESPACE)
    }
}

/// One process.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Process {
    /// Its number.
    pub pid: u32,
    /// Its start, in the kernel's ticks since boot.
    pub started_ticks: Option<u64>,
    /// Its start, in nanoseconds since 1970.
    pub started: Option<u64>,
    /// Its user's number.
    pub uid: Option<u32>,
    /// Its user's name.
    pub user: Option<String>,
    /// The name it gives itself.
    pub name: Option<String>,
    /// Its command line; `None` where it is empty or hidden.
    pub command: Option<String>,
    /// Whether it ignores the end of its terminal, as what `nohup` starts does.
    pub ignores_hangup: bool,
    /// What its environment tells of who started it.
    pub environment: Environment,
    /// Its relatives.
    pub kin: Kin,
    /// Its threads, the first one first. Not all, where they are very many.
    pub threads: Vec<Thread>,
    /// Its control group, as the kernel writes it.
    pub cgroup: Option<String>,
    /// The namespace of process numbers that it is in, where that may be read.
    pub pid_namespace: Option<u64>,
    /// What it has open.
    pub open: Open,
    /// File systems that depend on something outside the kernel. Looked for only where it is stuck.
    pub mounts: Vec<Mount>,
}

impl Process {
    /// Whether it runs in the machine's own namespace of process numbers, as far as that may be read.
    #[must_use]
    pub fn in_first_namespace(&self) -> bool {
        self.pid_namespace == Some(FIRST_NAMESPACE)
    }
}

/// What the environment of a process tells of who started it, where it may be read. No value is kept but
/// a job's number.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Environment {
    /// The launcher that made it a rank.
    pub launcher: Option<RankLauncher>,
    /// The job of Slurm that it was started in, by its number.
    pub slurm_job: Option<String>,
}

/// A launcher of ranks, known by variables that only it sets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RankLauncher {
    /// torchrun, and whatever else starts ranks with an agent of torch.distributed.elastic.
    Torchrun,
    /// mpirun of Open MPI.
    Mpirun,
    /// Any that sets what PyTorch reads: LOCAL_RANK, RANK and WORLD_SIZE.
    Other,
}

/// A process's relatives.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Kin {
    /// Its parent's number; 0 where the parent is outside the namespace.
    pub parent: Option<u32>,
    /// Its session.
    pub session: Option<u32>,
    /// Its process group.
    pub group: Option<u32>,
    /// Its parent, where it can be seen.
    pub seen_parent: Option<Relative>,
    /// Whether the leader of its session lives; `None` where that cannot be told.
    pub session_leader_lives: Option<bool>,
    /// Whether the leader of its process group lives.
    pub group_leader_lives: Option<bool>,
}

/// A parent.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Relative {
    /// Its number.
    pub pid: u32,
    /// Its name.
    pub name: String,
    /// Its command line.
    pub command: Option<String>,
    /// Its session.
    pub session: u32,
    /// Its process group.
    pub group: u32,
    /// Its start, in ticks since boot.
    pub started_ticks: u64,
}

/// One thread.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Thread {
    /// Its number.
    pub tid: u32,
    /// Its state, as `ps` shows it: R, S, D, T, Z, X, I.
    pub state: char,
    /// The function of the kernel that it waits in, where it may be read.
    pub waits_in: Option<String>,
    /// Whether it was in state D at two looks and did not run between them.
    pub still_waiting: bool,
}

impl Thread {
    /// Whether it has ended.
    #[must_use]
    pub fn ended(&self) -> bool {
        matches!(self.state, 'Z' | 'X')
    }
}

/// What a process has open of the driver.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Open {
    /// Devices, by the number in their file name.
    pub devices: Vec<u32>,
    /// Unified memory, which programs that compute have open and monitors have not.
    pub unified_memory: bool,
    /// The driver's control file or anything else of its.
    pub control: bool,
    /// Seen only through one of its threads: its first one has ended.
    pub through_thread: bool,
}

impl Open {
    /// Whether it has anything of the driver open.
    #[must_use]
    pub fn any(&self) -> bool {
        !self.devices.is_empty() || self.unified_memory || self.control
    }
}

/// A process that the driver lists and that has no entry in /proc.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Absent {
    /// Its number.
    pub pid: u32,
    /// Whether the kernel knows the number nevertheless; `None` where it was not asked.
    pub exists: Option<bool>,
}

/// A mounted file system.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mount {
    /// Where.
    pub point: String,
    /// Of which kind: nfs4, fuse.sshfs.
    pub kind: String,
}

/// A failure that the driver wrote to the kernel's log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Xid {
    /// Where the device is on the bus, as the log writes it: 0000:3b:00.
    pub bus: String,
    /// Its number.
    pub number: u32,
}

/// What could not be read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Unread {
    /// Processes that were seen.
    pub seen: u32,
    /// Of these, processes whose open files may not be read.
    pub files_denied: u32,
    /// Threads beyond the number that is looked at.
    pub threads_skipped: u32,
}
