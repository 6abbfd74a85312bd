//! The processes that `--kill-orphans` may end, and those that only root may.

use whyoom_node::{
    DeviceReport, Holder, NodeReport, State, SuspicionKind, holder_age, holder_command,
};

/// A process that was proved to be an orphan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Target {
    pub(super) pid: u32,
    /// Its start, which tells it from a later process with the same number.
    pub(super) started: u64,
    pub(super) user: String,
    pub(super) command: String,
    pub(super) age: String,
    /// What it holds, on all devices together.
    pub(super) bytes: u64,
    pub(super) stuck: bool,
}

/// The orphans of the caller's own.
pub(super) fn targets(report: &NodeReport) -> Vec<Target> {
    orphans(report, |holder| holder.orphan.is_some_and(|orphan| orphan.own))
}

/// The orphans of other users, for root. Its own that ignore the end of their terminal are not among them.
pub(super) fn others(report: &NodeReport) -> Vec<Target> {
    let is_other = |holder: &Holder| holder.user.as_deref().is_some_and(|user| user != "root");
    orphans(report, |holder| holder.orphan.is_some_and(|orphan| !orphan.own) && is_other(holder))
}

/// The orphans that are wanted, each once, whichever devices it holds memory of.
fn orphans(report: &NodeReport, is_wanted: impl Fn(&Holder) -> bool) -> Vec<Target> {
    let mut targets: Vec<Target> = Vec::new();
    let holders = report.devices.iter().flat_map(|device| {
        let holders = device.holders.iter();
        holders.filter(|holder| is_wanted(holder) && is_suspicious(device, holder))
    });
    for holder in holders {
        let Some(started) = holder.started else { continue };
        let bytes = holder.bytes.unwrap_or(0);
        match targets.iter_mut().find(|target| target.pid == holder.pid) {
            Some(target) => target.bytes = target.bytes.saturating_add(bytes),
            None => targets.push(Target {
                pid: holder.pid,
                started,
                user: holder.user.clone().unwrap_or_default(),
                command: holder_command(holder),
                age: holder_age(holder, report.time),
                bytes,
                stuck: holder.state == Some(State::Stuck),
            }),
        }
    }
    targets
}

/// Only what the checks call suspicious: servers that are meant to outlive their parent are not.
fn is_suspicious(device: &DeviceReport, holder: &Holder) -> bool {
    let mut suspicions = device.suspicions.iter();
    suspicions.any(|one| one.kind == SuspicionKind::Orphan && one.pids.contains(&holder.pid))
}
