//! Who holds a device's memory, as the driver and the kernel tell it together.

use std::cmp::Reverse;

use whyoom_gpu::Device;

use crate::{
    capture::{Capture, Process, Thread},
    parentage,
    proc::cgroup,
    report::{Holder, Origin, Orphan, State, Workload},
    residual,
};

/// The holders of a device, the most first.
pub(crate) fn of(capture: &Capture, device: &Device, minor: Option<u32>) -> Vec<Holder> {
    let listed = device.processes.as_deref().unwrap_or_default();
    let mut holders: Vec<Holder> = listed
        .iter()
        .map(|entry| match capture.process(entry.pid) {
            Some(process) => holder(capture, process, Origin::Listed, entry.bytes),
            None => ghost(entry.pid, entry.bytes),
        })
        .collect();
    let is_listed = |pid| listed.iter().any(|entry| entry.pid == pid);
    let unexplained = unexplained(capture, device);
    holders.extend(
        capture
            .processes
            .iter()
            .filter(|process| minor.is_some_and(|minor| process.open.devices.contains(&minor)))
            .filter(|process| process.pid != capture.viewer.pid && !is_listed(process.pid))
            .filter(|process| match process.open.unified_memory {
                true => unexplained || !inherits(process, is_listed),
                // Monitors have the device open and hold nothing; what computes has unified memory too.
                false => residual::is_suspicious(device),
            })
            .map(|process| holder(capture, process, Origin::HasDeviceOpen, None)),
    );
    holders.sort_by_key(|holder| (Reverse(holder.bytes), holder.pid));
    holders
}

/// Whether somebody must be looked for: memory is in use that nobody accounts for, or that a process
/// holds which cannot be seen.
pub(crate) fn unexplained(capture: &Capture, device: &Device) -> bool {
    let listed = device.processes.as_deref().unwrap_or_default();
    residual::is_suspicious(device)
        || listed.iter().any(|entry| capture.process(entry.pid).is_none())
}

/// Children of a listed process inherit its open files, as the loaders of training data do, and hold
/// nothing themselves.
fn inherits(process: &Process, is_listed: impl Fn(u32) -> bool) -> bool {
    process.kin.parent.is_some_and(is_listed)
}

fn ghost(pid: u32, bytes: Option<u64>) -> Holder {
    Holder {
        pid,
        bytes,
        origin: Origin::Ghost,
        started: None,
        user: None,
        command: None,
        name: None,
        parent: None,
        state: None,
        workload: None,
        orphan: None,
        recorded: None,
    }
}

fn holder(capture: &Capture, process: &Process, origin: Origin, bytes: Option<u64>) -> Holder {
    let own = process.uid.is_some() && process.uid == capture.viewer.uid;
    let bracketed = || process.name.as_ref().map(|name| format!("[{name}]"));
    Holder {
        pid: process.pid,
        bytes,
        origin,
        started: process.started,
        user: process.user.clone().or_else(|| process.uid.map(|uid| uid.to_string())),
        command: process.command.clone().or_else(bracketed),
        name: process.name.clone(),
        parent: process.kin.parent,
        state: state(process),
        workload: workload(process),
        // What ignores the end of its terminal was left running on purpose: nobody ends it for others.
        orphan: parentage::proof(process).map(|_| Orphan { own: own && !process.ignores_hangup }),
        recorded: None,
    }
}

/// Where it runs. The kernel's word counts first; Slurm without control groups leaves only its variable.
fn workload(process: &Process) -> Option<Workload> {
    let job = || process.environment.slurm_job.clone().map(|job| Workload::Slurm { job });
    process.cgroup.as_deref().and_then(cgroup::workload).or_else(job)
}

/// The state of a process by its threads; `None` where none could be read.
fn state(process: &Process) -> Option<State> {
    let (first, others) = process.threads.split_first()?;
    let hangs = process.threads.iter().any(|thread| thread.still_waiting);
    Some(match first.state {
        _ if first.ended() && others.iter().all(Thread::ended) => State::Zombie,
        _ if first.ended() => State::ZombieLeader,
        _ if hangs => State::Stuck,
        'T' | 't' => State::Stopped,
        _ => State::Ordinary,
    })
}
