//! `--gate`: is the GPU clean for the next job? One line and a status, as node-problem-detector's plugins and Slurm's
//! prologs and epilogs want them. Nothing is ended.

use std::env;

use whyoom_gpu::Device;
use whyoom_node::{
    Capture, DeviceReport, Holder, NodeReport, Origin, State, SuspicionKind, Workload,
    is_memory_shared,
};
use whyoom_trace::Bytes;

use crate::exit_status::{ANSWERED, DIRTY, UNKNOWN};

/// What runs beside every job, by the first letters of its name, where its user is one of the system's.
const SERVICES: [&str; 7] = [
    "nvidia-cuda-mps",
    "nvidia-persiste",
    "nv-hostengine",
    "dcgm-exporter",
    "Xorg",
    "Xwayland",
    "gnome-shell",
];
const SYSTEM_USERS: [&str; 4] = ["root", "gdm", "nvidia-dcgm", "nvidia-persistenced"];
/// More than a context, or what the driver keeps for itself.
const MUCH: u64 = 1 << 30;
/// So many are named; the line is meant to be read in a table.
const NAMED: usize = 3;

/// What is asked.
pub(crate) struct Question {
    /// Only this GPU, by the driver's index.
    pub(crate) device: Option<u32>,
    /// The job that a prolog or epilog of Slurm runs for.
    pub(crate) job: Option<Job>,
}

/// A job of Slurm, before or after it runs.
pub(crate) struct Job {
    /// Its GPUs, by the numbers of their device files; nothing where it has none.
    gpus: Option<String>,
}

impl Job {
    /// The one that the environment tells of.
    pub(crate) fn of_environment() -> Option<Self> {
        let variable = |name| env::var(name).ok().filter(|value| !value.is_empty());
        variable("SLURM_JOB_ID").map(|_| Self { gpus: variable("SLURM_JOB_GPUS") })
    }
}

/// What is true of a GPU.
enum Found {
    Clean,
    /// This is left, each with its owner.
    Left(Vec<String>),
    /// It cannot be told, for this reason.
    Unknown(String),
}

/// The status and the line.
pub(crate) fn judge(capture: &Capture, report: &NodeReport, question: &Question) -> (u8, String) {
    let asked = match Asked::of(question) {
        Ok(Some(asked)) => asked,
        Ok(None) => return (ANSWERED, "the job has no GPU".to_owned()),
        Err(why) => return (UNKNOWN, why),
    };
    let minors = capture.minors.iter().copied().chain(std::iter::repeat(None));
    let all = report.devices.iter().zip(minors);
    let devices: Vec<_> = all.filter(|(one, minor)| asked.is_meant(&one.device, *minor)).collect();
    let (mut left, mut unknown) = (Vec::new(), asked.missing(&devices, capture));
    // A job's GPU is its own; elsewhere a process that runs as it should is no reason to stop the next job.
    let is_idle = question.job.is_some();
    for (device, _) in &devices {
        match found(capture, device, is_idle) {
            Found::Clean => {}
            Found::Left(here) => left.extend(here),
            Found::Unknown(why) => unknown.push(format!("GPU {}: {why}", device.device.index)),
        }
    }
    match (left.is_empty(), unknown.is_empty()) {
        (false, _) => (DIRTY, shortened(&left)),
        (true, false) => (UNKNOWN, shortened(&unknown)),
        (true, true) => (ANSWERED, clean(&devices)),
    }
}

/// Which GPUs are meant.
enum Asked {
    All,
    Index(u32),
    Minors(Vec<u32>),
}

impl Asked {
    /// Nothing for a job without GPUs.
    fn of(question: &Question) -> Result<Option<Self>, String> {
        if let Some(index) = question.device {
            return Ok(Some(Self::Index(index)));
        }
        let Some(job) = &question.job else { return Ok(Some(Self::All)) };
        let Some(list) = &job.gpus else { return Ok(None) };
        let minors = numbers(list).map(Self::Minors);
        minors.map(Some).ok_or_else(|| format!("SLURM_JOB_GPUS is not a list of GPUs: {list}"))
    }

    fn is_meant(&self, device: &Device, minor: Option<u32>) -> bool {
        match self {
            Self::All => true,
            Self::Index(index) => device.index == *index,
            Self::Minors(minors) => minors.contains(&minor.unwrap_or(device.index)),
        }
    }

    /// Those that do not answer.
    fn missing(&self, devices: &[(&DeviceReport, Option<u32>)], capture: &Capture) -> Vec<String> {
        let is_there = |number: u32| {
            let number_of = |(one, minor): &(&DeviceReport, Option<u32>)| match self {
                Self::Minors(_) => minor.unwrap_or(one.device.index),
                _ => one.device.index,
            };
            devices.iter().any(|device| number_of(device) == number)
        };
        let unanswered = |number: &u32| format!("GPU {number} does not answer");
        match self {
            Self::All if devices.is_empty() && capture.silent.is_empty() => {
                vec!["the driver lists no GPU".to_owned()]
            }
            Self::All => capture.silent.iter().map(|silent| unanswered(&silent.index)).collect(),
            Self::Index(index) => {
                [index].into_iter().filter(|index| !is_there(**index)).map(unanswered).collect()
            }
            Self::Minors(minors) => {
                minors.iter().filter(|minor| !is_there(**minor)).map(unanswered).collect()
            }
        }
    }
}

/// `0,2-3` as Slurm writes it.
fn numbers(list: &str) -> Option<Vec<u32>> {
    let mut numbers = Vec::new();
    for part in list.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (u32, u32) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
        numbers.extend(first..=last.min(first.saturating_add(1023)));
    }
    Some(numbers)
}

fn found(capture: &Capture, device: &DeviceReport, is_idle: bool) -> Found {
    let index = device.device.index;
    let (services, others): (Vec<&Holder>, Vec<&Holder>) = device
        .holders
        .iter()
        .filter(|one| one.origin != Origin::HasDeviceOpen)
        .partition(|one| is_service(one));
    let sees_all = sees_all(capture);
    let (ghosts, seen): (Vec<&Holder>, Vec<&Holder>) =
        others.into_iter().partition(|one| one.origin == Origin::Ghost);
    let (behind, running): (Vec<&Holder>, Vec<&Holder>) =
        seen.into_iter().partition(|one| is_left_behind(one));
    let ghosts_count = sees_all && !ghosts.is_empty();
    let shares = device.device.mig == Some(true);
    let mut left: Vec<&Holder> = behind;
    left.extend(ghosts.iter().filter(|_| ghosts_count));
    left.extend(running.iter().filter(|_| is_idle && !shares));
    if !left.is_empty() {
        let named = left.iter().map(|holder| format!("GPU {index}: {}", named(holder)));
        return Found::Left(named.collect());
    }
    if is_idle && shares && !running.is_empty() {
        return Found::Unknown("MIG divides it; other jobs may use the other parts".to_owned());
    }
    if device.device.processes.is_none() {
        return Found::Unknown("the driver lists no processes".to_owned());
    }
    if has_residual(device) {
        return residual(capture, device);
    }
    let memory = device.device.memory;
    let used = memory.used.saturating_sub(memory.reserved.unwrap_or_default());
    if services.iter().any(|one| one.bytes.is_none()) && used > MUCH {
        return Found::Unknown(format!(
            "{} is in use by a service of the node, or not",
            Bytes(used)
        ));
    }
    if !sees_all {
        return Found::Unknown(
            "not all processes are visible here: root, or hostPID, sees them".to_owned(),
        );
    }
    Found::Clean
}

fn has_residual(device: &DeviceReport) -> bool {
    let kinds = [SuspicionKind::Residual, SuspicionKind::Hidden];
    device.suspicions.iter().any(|one| kinds.contains(&one.kind))
}

/// Memory that no visible process holds.
fn residual(capture: &Capture, device: &DeviceReport) -> Found {
    let words = format!("{} is in use, and no visible process holds it", Bytes(device.residual));
    // Where memory is shared, pages of exited processes may stay in use: that is no leak.
    match is_memory_shared(&device.device.name)
        || capture.viewer.under_windows
        || !sees_all(capture)
    {
        true => Found::Unknown(words),
        false => Found::Left(vec![format!("GPU {}: {words}", device.device.index)]),
    }
}

fn sees_all(capture: &Capture) -> bool {
    let viewer = &capture.viewer;
    viewer.pid != 0
        && viewer.in_first_namespace() != Some(false)
        && !viewer.foreign_proc
        && !viewer.processes_hidden
}

/// Whether nobody waits for it any more.
fn is_left_behind(holder: &Holder) -> bool {
    let is_stuck = matches!(holder.state, Some(State::Stuck | State::ZombieLeader));
    holder.orphan.is_some() || is_stuck
}

/// Of the node itself; what a job has started is the job's.
fn is_service(holder: &Holder) -> bool {
    let name = holder.name.as_deref().unwrap_or_default();
    let user = holder.user.as_deref().unwrap_or_default();
    SERVICES.iter().any(|service| name.starts_with(service))
        && SYSTEM_USERS.contains(&user)
        && !matches!(holder.workload, Some(Workload::Slurm { .. }))
}

fn named(holder: &Holder) -> String {
    let mut whose = vec![visible(holder.name.as_deref().unwrap_or("not visible"))];
    whose.extend(holder.user.as_deref().map(visible));
    whose.extend(match &holder.workload {
        Some(Workload::Slurm { job }) => Some(format!("Slurm job {}", visible(job))),
        Some(Workload::Pod { uid, .. }) => Some(format!("pod {}", visible(uid))),
        Some(Workload::Container { id }) => Some(format!("container {}", visible(id))),
        None => None,
    });
    if holder.orphan.is_some() {
        whose.push("orphan".to_owned());
    }
    let holds = match holder.bytes {
        Some(bytes) => format!("holds {}", Bytes(bytes)),
        None => "uses it".to_owned(),
    };
    format!("process {} ({}) {holds}", holder.pid, whose.join(", "))
}

/// Processes name themselves: a name is a part of one line.
fn visible(name: &str) -> String {
    name.chars().map(|one| if one.is_control() { '?' } else { one }).take(40).collect()
}

fn shortened(all: &[String]) -> String {
    let line = all[..all.len().min(NAMED)].join("; ");
    match all.len().saturating_sub(NAMED) {
        0 => line,
        more => format!("{line}; and {more} more"),
    }
}

fn clean(devices: &[(&DeviceReport, Option<u32>)]) -> String {
    match devices {
        [(only, _)] => {
            let (index, free) = (only.device.index, Bytes(only.device.memory.free));
            format!("GPU {index} is clean: {free} free")
        }
        all => format!("{} GPUs are clean", all.len()),
    }
}

#[cfg(test)]
mod tests {
    use whyoom_gpu::Silent;
    use whyoom_node::Viewer;

    use super::*;
    use crate::who::built::{GIB, device, node, orphan};

    const ALL: Question = Question { device: None, job: None };

    fn job(gpus: &str) -> Question {
        let gpus = Some(gpus.to_owned()).filter(|gpus| !gpus.is_empty());
        Question { device: None, job: Some(Job { gpus }) }
    }

    fn seen(devices: usize) -> Capture {
        let minors = (0..devices as u32).map(Some).collect();
        Capture { minors, viewer: Viewer { pid: 9, ..Viewer::default() }, ..Capture::default() }
    }

    /// The answer where everything is seen.
    fn asked(devices: Vec<DeviceReport>, question: &Question) -> (u8, String) {
        judge(&seen(devices.len()), &node(devices), question)
    }

    fn running(pid: u32, gibibytes: u64) -> Holder {
        Holder { orphan: None, ..orphan(pid, gibibytes) }
    }

    #[test]
    fn a_clean_node_is_clean() {
        let devices = || vec![device(0, 0, vec![]), device(1, 0, vec![])];
        assert_eq!(asked(devices(), &ALL), (ANSWERED, "2 GPUs are clean".to_owned()));
        let one = Question { device: Some(1), job: None };
        let clean = "GPU 1 is clean: 24.00 GiB free".to_owned();
        assert_eq!(asked(devices(), &one), (ANSWERED, clean));
        assert_eq!(asked(devices(), &job("")), (ANSWERED, "the job has no GPU".to_owned()));
    }

    #[test]
    fn what_is_left_is_named_with_its_owner() {
        let mut left = orphan(77, 3);
        left.workload = Some(Workload::Slurm { job: "17".to_owned() });
        let devices = || vec![device(0, 0, vec![left.clone()]), device(1, 0, vec![])];
        let line = "GPU 0: process 77 (python, alice, Slurm job 17, orphan) holds 3.00 GiB";
        assert_eq!(asked(devices(), &ALL), (DIRTY, line.to_owned()));
        assert_eq!(asked(devices(), &job("1")).0, ANSWERED, "another job's GPU");
        assert_eq!(asked(devices(), &job("0-1")).0, DIRTY);
        let many = (1..6).map(|pid| orphan(pid, 1)).collect();
        let (_, line) = asked(vec![device(0, 0, many)], &ALL);
        assert!(line.ends_with("; and 2 more"), "{line}");
    }

    #[test]
    fn what_runs_is_left_only_between_jobs() {
        let devices = || vec![device(0, 0, vec![running(5, 2)])];
        assert_eq!(asked(devices(), &ALL).0, ANSWERED, "a node at work");
        assert_eq!(asked(devices(), &job("0")).0, DIRTY);
        let mut parts = devices();
        parts[0].device.mig = Some(true);
        assert_eq!(asked(parts, &job("0")).0, UNKNOWN, "another job's part");
    }

    #[test]
    fn a_jobs_numbers_are_those_of_the_device_files() {
        let report = node(vec![device(0, 0, vec![orphan(1, 1)]), device(1, 0, vec![])]);
        let capture = Capture { minors: vec![Some(1), Some(0)], ..seen(2) };
        assert_eq!(judge(&capture, &report, &job("0")).0, ANSWERED);
        assert_eq!(judge(&capture, &report, &job("1")).0, DIRTY);
        assert_eq!(judge(&capture, &report, &job("4")).0, UNKNOWN);
    }

    #[test]
    fn services_and_who_only_looks_are_not_left_behind() {
        let monitor = Holder { origin: Origin::HasDeviceOpen, ..orphan(5, 0) };
        let name = Some("nvidia-cuda-mps".to_owned());
        let server = Holder { name, user: Some("root".to_owned()), ..orphan(6, 0) };
        let of_alice = Holder { user: Some("alice".to_owned()), ..server.clone() };
        let devices = vec![device(0, 0, vec![monitor, server.clone()])];
        assert_eq!(asked(devices, &job("0")).0, ANSWERED);
        assert_eq!(asked(vec![device(0, 0, vec![of_alice])], &job("0")).0, DIRTY);
        let untold = Holder { bytes: None, ..server };
        assert_eq!(asked(vec![device(0, 5 * GIB, vec![untold])], &job("0")).0, UNKNOWN);
    }

    #[test]
    fn memory_that_nobody_holds_is_not_clean() {
        let mut one = device(0, 5 * GIB, vec![orphan(1, 0)]);
        one.holders.clear();
        one.suspicions[0].kind = SuspicionKind::Residual;
        let (status, line) = asked(vec![one.clone()], &ALL);
        assert_eq!(status, DIRTY);
        assert!(line.starts_with("GPU 0: 5.00 GiB is in use"), "{line}");
        one.device.name = "NVIDIA GH200 480GB".to_owned();
        assert_eq!(asked(vec![one], &ALL).0, UNKNOWN);
    }

    #[test]
    fn what_is_not_seen_is_not_clean() {
        let clean = || node(vec![device(0, 0, vec![])]);
        let question = Question { device: Some(3), job: None };
        assert_eq!(judge(&seen(1), &clean(), &question).0, UNKNOWN);
        assert_eq!(judge(&seen(1), &clean(), &job("GPU-x")).0, UNKNOWN);
        assert_eq!(judge(&seen(0), &node(vec![]), &ALL).0, UNKNOWN);
        let silent = vec![Silent { index: 1, why: "lost".to_owned() }];
        let (status, line) = judge(&Capture { silent, ..seen(1) }, &clean(), &ALL);
        assert_eq!((status, line.as_str()), (UNKNOWN, "GPU 1 does not answer"));
        let hidden = Viewer { pid: 9, processes_hidden: true, ..Viewer::default() };
        let capture = Capture { viewer: hidden, ..seen(1) };
        assert_eq!(judge(&capture, &clean(), &ALL).0, UNKNOWN);
        let mut untold = clean();
        untold.devices[0].device.processes = None;
        assert_eq!(judge(&seen(1), &untold, &ALL).0, UNKNOWN);
    }

    #[test]
    fn a_name_stays_in_its_line() {
        let named = Holder { name: Some("a\nb".to_owned()), ..orphan(1, 1) };
        let (_, line) = asked(vec![device(0, 0, vec![named])], &ALL);
        assert!(!line.contains('\n'), "{line}");
    }
}
