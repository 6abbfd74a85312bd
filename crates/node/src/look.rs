//! Looking at this machine: the driver's answers, then one pass over /proc.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
    time::{SystemTime, UNIX_EPOCH},
};

use rustix::process::{Pid, test_kill_process};
use whyoom_gpu::{Asked, Device, Devices, GpuError, Gpus};

use crate::{
    capture::{Absent, Capture, Process, Unread, Viewer},
    proc::{
        Existence, Reader, Root, Scan, kernel_log::KernelLog, library_users, look_again, mounts,
        status::Status,
    },
    residual,
};

/// Looks between two passes over the open files of processes that had nothing of the driver open.
const LOOKS_BETWEEN_SCANS: u32 = 5;

/// Looks once.
pub fn look(gpus: &Gpus) -> Result<Capture, GpuError> {
    NodeSampler::new().look(gpus, Asked::All)
}

/// Looks repeatedly, and keeps what need not be read again: names of users, the kernel's log, and
/// which processes have nothing to do with the driver.
#[derive(Debug)]
pub struct NodeSampler {
    root: Root,
    existence: Existence,
    user_name: fn(u32) -> Option<String>,
    user_names: BTreeMap<u32, Option<String>>,
    boot_time: Option<u64>,
    log: Option<KernelLog>,
    looks: u32,
    scanned: BTreeSet<u32>,
    denied: BTreeSet<u32>,
}

impl Default for NodeSampler {
    fn default() -> Self {
        Self::new()
    }
}

impl NodeSampler {
    /// Looks at this machine.
    #[must_use]
    pub fn new() -> Self {
        let log = KernelLog::open(Path::new("/dev/kmsg"));
        Self { existence: exists, user_name, log, ..Self::at(Path::new("/proc")) }
    }

    /// Looks at a folder like /proc. Nothing is asked of this machine.
    #[must_use]
    pub fn at(root: &Path) -> Self {
        let root = Root::new(root);
        Self {
            boot_time: root.boot_time(),
            root,
            existence: |_| None,
            user_name: |_| None,
            user_names: BTreeMap::new(),
            log: None,
            looks: 0,
            scanned: BTreeSet::new(),
            denied: BTreeSet::new(),
        }
    }

    /// Asks the driver, then the kernel.
    pub fn look(&mut self, gpus: &Gpus, asked: Asked) -> Result<Capture, GpuError> {
        let capture = self.look_once(gpus, asked)?;
        if capture.absent.is_empty() {
            return Ok(capture);
        }
        // Who ended between the two questions is no ghost: the driver does not list it any more.
        self.look_once(gpus, asked)
    }

    fn look_once(&mut self, gpus: &Gpus, asked: Asked) -> Result<Capture, GpuError> {
        let Devices { answering, silent } = gpus.read(asked)?;
        let minors = gpus.minors(&answering);
        Ok(Capture { silent, ..self.look_with(answering, minors) })
    }

    /// Asks the kernel about the processes of devices that were asked already.
    pub fn look_with(&mut self, devices: Vec<Device>, minors: Vec<Option<u32>>) -> Capture {
        let pids = self.root.numbers("").unwrap_or_default();
        let scan = self.scan(&pids);
        let listed = listed(&devices);
        let (processes, threads_skipped) = self.processes(&listed, &scan);
        let mut capture = Capture {
            time: now(),
            devices,
            minors,
            silent: Vec::new(),
            viewer: self.viewer(),
            absent: self.absent(&listed, &processes),
            processes,
            library_users: Vec::new(),
            xids: self.log.as_mut().map(KernelLog::xids),
            unread: Unread {
                seen: u32::try_from(pids.len()).unwrap_or(u32::MAX),
                files_denied: u32::try_from(self.denied.len()).unwrap_or(u32::MAX),
                threads_skipped,
            },
        };
        // The slowest thing to read, and of use only where memory is missing from the lists.
        if capture.devices.iter().any(residual::is_suspicious) {
            let others = pids
                .into_iter()
                .filter(|pid| capture.process(*pid).is_none() && *pid != capture.viewer.pid);
            capture.library_users = library_users(&self.root, others);
        }
        capture
    }

    /// The processes that are listed or have the driver open, and how many threads were left out.
    fn processes(&mut self, listed: &BTreeSet<u32>, scan: &Scan) -> (Vec<Process>, u32) {
        let wanted: BTreeSet<u32> = listed.iter().chain(scan.open.keys()).copied().collect();
        let mut reader = Reader::new(&self.root, self.existence);
        let mut processes: Vec<Process> =
            wanted.into_iter().filter_map(|pid| reader.read(pid)).collect();
        let skipped = reader.budget.skipped;
        look_again(&self.root, &mut processes);
        for process in &mut processes {
            process.open = scan.open.get(&process.pid).cloned().unwrap_or_default();
            self.complete(process);
        }
        (processes, skipped)
    }

    /// The open files of all processes at first and from time to time; of those that are new, or that
    /// had the driver open, at every look.
    fn scan(&mut self, pids: &[u32]) -> Scan {
        if self.looks.is_multiple_of(LOOKS_BETWEEN_SCANS) {
            self.scanned.clear();
            self.denied.clear();
        }
        self.looks = self.looks.wrapping_add(1);
        let scan =
            Scan::of(&self.root, pids.iter().copied().filter(|pid| !self.scanned.contains(pid)));
        self.scanned = pids.iter().copied().filter(|pid| !scan.open.contains_key(pid)).collect();
        self.denied.extend(&scan.denied);
        scan
    }

    /// Adds what takes more than the process's own files.
    fn complete(&mut self, process: &mut Process) {
        process.started = process.started_ticks.and_then(|ticks| started(self.boot_time?, ticks));
        let ask = self.user_name;
        process.user = process
            .uid
            .and_then(|uid| self.user_names.entry(uid).or_insert_with(|| ask(uid)).clone());
        if process.threads.iter().any(|thread| thread.still_waiting) {
            let text = self.root.text(format!("{}/mounts", process.pid)).unwrap_or_default();
            process.mounts = mounts::remote(&text);
        }
    }

    fn absent(&self, listed: &BTreeSet<u32>, processes: &[Process]) -> Vec<Absent> {
        let seen: BTreeSet<u32> = processes.iter().map(|process| process.pid).collect();
        let absent = listed.difference(&seen);
        absent.map(|&pid| Absent { pid, exists: (self.existence)(pid) }).collect()
    }

    fn viewer(&self) -> Viewer {
        let status = Status::parse(&self.root.text("self/status").unwrap_or_default());
        let hidden =
            self.root.text("self/mounts").is_some_and(|text| mounts::processes_hidden(&text));
        Viewer {
            pid: self.root.own_pid().unwrap_or_default(),
            uid: status.uid,
            pid_namespace: self.root.namespace("self/ns/pid"),
            foreign_proc: status.namespaces > 1,
            // The option does not bind root.
            processes_hidden: hidden && status.uid != Some(0),
            under_windows: self.root.text("version").is_some_and(|text| text.contains("microsoft")),
        }
    }
}

/// The processes that the driver lists on any device.
fn listed(devices: &[Device]) -> BTreeSet<u32> {
    let lists = devices.iter().filter_map(|device| device.processes.as_ref());
    lists.flatten().map(|process| process.pid).collect()
}

fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}

/// The start of a process, in nanoseconds since 1970.
fn started(boot_seconds: u64, ticks: u64) -> Option<u64> {
    let per_second = rustix::param::clock_ticks_per_second().max(1);
    let since_boot = u128::from(ticks) * 1_000_000_000 / u128::from(per_second);
    u64::try_from(u128::from(boot_seconds) * 1_000_000_000 + since_boot).ok()
}

/// Whether the kernel knows the number: a signal that does nothing finds out, also where /proc hides
/// the process.
fn exists(pid: u32) -> Option<bool> {
    let pid = Pid::from_raw(i32::try_from(pid).ok()?)?;
    match test_kill_process(pid) {
        Ok(()) | Err(rustix::io::Errno::PERM) => Some(true),
        Err(rustix::io::Errno::SRCH) => Some(false),
        Err(_) => None,
    }
}

fn user_name(uid: u32) -> Option<String> {
    uzers::get_user_by_uid(uid)?.name().to_str().map(str::to_owned)
}
