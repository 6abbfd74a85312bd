//! Looks at the machine when an allocation of a recorded process fails: who else held memory then.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicU32, Ordering::Relaxed},
    },
    thread::{self, JoinHandle},
    time::Duration,
};

use whyoom_gpu::{Asked, Gpus};
use whyoom_lab_core::models::{self, GpuModel};
use whyoom_node::{
    DeviceReport, Holder, NodeReport, NodeSampler, Suspicion, SuspicionKind, events::standing,
    holder_command, judge,
};
use whyoom_recording::LiveView;
use whyoom_sources::recording::{MachineSample, SeenDevice, SeenHolder, SeenModel};
use whyoom_trace::ProcessState;

use crate::recording_origin;

/// Between two searches for new processes, and the longest that the end is waited for.
const GLANCE: Duration = Duration::from_millis(50);
/// A process that fails more often than this is looked at now and then only, and does not wait for it: a loop
/// that retries fails thousands of times a second.
const AT_ONCE: u32 = 64;
/// Between two samples at such a process.
const REST: Duration = Duration::from_millis(200);
/// A run that fails more often has told enough.
const MOST_LOOKS: u32 = 1000;

/// Watches a recording until it is dropped.
pub(super) struct Watcher {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

struct Shared {
    folder: PathBuf,
    ended: AtomicBool,
    looks: AtomicU32,
    eyes: Mutex<Eyes>,
}

impl Watcher {
    /// Starts to watch. Where no thread can be had, nothing is looked at.
    pub(super) fn start(folder: &Path) -> Self {
        let shared = Arc::new(Shared {
            folder: folder.to_owned(),
            ended: AtomicBool::new(false),
            looks: AtomicU32::new(0),
            eyes: Mutex::new(Eyes::Closed),
        });
        let seen = Arc::clone(&shared);
        let search = thread::Builder::new().name("whyoom-watch".to_owned());
        let thread = search.spawn(move || find_processes(&seen)).ok();
        Self { shared, thread }
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        self.shared.ended.store(true, Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Finds the parts of processes as they come, and watches each.
fn find_processes(shared: &Arc<Shared>) {
    let mut known = BTreeSet::new();
    let mut threads = Vec::new();
    loop {
        let ended = shared.ended.load(Relaxed);
        for path in parts(&shared.folder) {
            // One that is still being made is there the next time.
            let Some(part) = (!known.contains(&path)).then(|| open(&path)).flatten() else {
                continue;
            };
            known.insert(path);
            let shared = Arc::clone(shared);
            let watch = thread::Builder::new().name("whyoom-watch".to_owned());
            threads.extend(watch.spawn(move || watch_process(&part, &shared)));
        }
        threads.retain(|thread: &JoinHandle<()>| !thread.is_finished());
        if ended {
            break;
        }
        thread::sleep(GLANCE);
    }
    for thread in threads {
        let _ = thread.join();
    }
}

fn open(path: &Path) -> Option<LiveView> {
    LiveView::open_as_watcher(path).or_else(|_| LiveView::open(path)).ok()
}

fn parts(folder: &Path) -> impl Iterator<Item = PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let is_part = |path: &PathBuf| path.extension().is_some_and(|kind| kind == "part");
    entries.map(|entry| entry.path()).filter(is_part)
}

/// Looks at each failure of a process while it waits, at those of one moment once, until the process or the
/// run has ended: what runs on in the background may fail forever.
fn watch_process(part: &LiveView, shared: &Shared) {
    part.set_ready(true);
    shared.open_eyes();
    let (mut seen, mut looks) = (0, 0);
    loop {
        // Asked before the failures, so that the last one is looked at.
        let ended = shared.ended.load(Relaxed) || is_gone(part.info().pid);
        let calls = part.wait(seen, if ended { Duration::ZERO } else { GLANCE });
        if calls != seen {
            seen = calls;
            looks += 1;
            shared.look(part.info().pid);
            part.set_ready(looks < AT_ONCE);
            if looks >= AT_ONCE && !ended {
                thread::sleep(REST);
            }
        }
        if ended {
            part.set_ready(false);
            return;
        }
    }
}

fn is_gone(pid: u32) -> bool {
    !Path::new("/proc").join(pid.to_string()).exists()
}

impl Shared {
    /// Asks for the driver before it is needed: opening it takes a while.
    fn open_eyes(&self) {
        if let Ok(mut eyes) = self.eyes.lock() {
            eyes.open();
        }
    }

    fn look(&self, pid: u32) {
        if self.looks.fetch_add(1, Relaxed) >= MOST_LOOKS {
            return;
        }
        let Ok(mut eyes) = self.eyes.lock() else { return };
        let Some(report) = eyes.look() else { return };
        // Where it cannot be written, the recording cannot either.
        let _ = seen(&report, pid).append(&self.folder);
    }
}

/// The driver, where there is one to ask.
enum Eyes {
    Closed,
    Open(Box<(Gpus, NodeSampler)>),
    Blind,
}

impl Eyes {
    fn open(&mut self) {
        if let Self::Closed = self {
            *self = Gpus::open()
                .map_or(Self::Blind, |gpus| Self::Open(Box::new((gpus, NodeSampler::new()))));
        }
    }

    fn look(&mut self) -> Option<NodeReport> {
        let Self::Open(open) = self else { return None };
        let (gpus, sampler) = &mut **open;
        sampler.look(gpus, Asked::Memory).ok().map(|capture| judge(&capture.private()))
    }
}

fn model(model: &GpuModel) -> SeenModel {
    let name = model.aliases.first().unwrap_or(&model.name);
    SeenModel { name: (*name).to_owned(), total: model.total.value }
}

/// Its command, with its own name for itself where that is another one; nothing where nobody can tell.
fn command(holder: &Holder) -> String {
    let known = holder.name.is_some() || holder.command.is_some();
    if known { holder_command(holder) } else { String::new() }
}

fn seen(report: &NodeReport, pid: u32) -> MachineSample {
    let time = report.time;
    let devices = report.devices.iter().map(|one| device(one, time)).collect();
    MachineSample { time, pid, devices }
}

/// How a holder stands, and whether signal 9 ends a wait that others do not.
fn standing_of(holder: &Holder, report: &DeviceReport) -> ProcessState {
    let ends = |one: &Suspicion| one.kind == SuspicionKind::Stuck && one.command.is_some();
    let mut suspicions = report.suspicions.iter().filter(|one| ends(one));
    match standing(holder) {
        ProcessState::Stuck if suspicions.any(|one| one.pids.contains(&holder.pid)) => {
            ProcessState::Hangs
        }
        standing => standing,
    }
}

fn device(report: &DeviceReport, time: u64) -> SeenDevice {
    let holders = report.holders.iter().filter_map(|holder| {
        Some(SeenHolder {
            pid: holder.pid,
            bytes: holder.bytes?,
            command: command(holder),
            standing: standing_of(holder, report),
            age: holder.started.map(|started| time.saturating_sub(started) / 1_000_000_000),
            started_ticks: recording_origin::start_ticks(holder.pid),
        })
    });
    SeenDevice {
        index: report.device.index,
        uuid: report.device.uuid.clone(),
        model: models::find(report.device.name.trim_end_matches(" (simulated)")).map(model),
        total: report.device.memory.total,
        free: report.device.memory.free,
        holders: holders.collect(),
    }
}
