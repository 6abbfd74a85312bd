//! What differs between two reports, a line each.

use whyoom_redact::visible;
use whyoom_trace::Bytes;

use super::{
    holders::{holder_command, user, without_folder},
    verdict::kind_name,
};
use crate::report::{DeviceReport, Holder, NodeReport};

/// A command in a line of a log is cut after so many characters.
const COMMAND: usize = 60;

/// What has changed, a line each, with the device that it is about. Nothing where nothing has.
#[must_use]
pub fn who_changes(before: &NodeReport, now: &NodeReport) -> Vec<String> {
    let same = |device: &DeviceReport| {
        before.devices.iter().find(|old| old.device.uuid == device.device.uuid)
    };
    let mut lines = Vec::new();
    for device in &now.devices {
        let changes = match same(device) {
            Some(old) => device_changes(old, device),
            None => vec!["appeared".to_owned()],
        };
        let memory = device.device.memory;
        let label = format!(
            "GPU {}: {} of {} free",
            device.device.index,
            Bytes(memory.free),
            Bytes(memory.total)
        );
        lines.extend(changes.into_iter().map(|change| format!("{label}; {change}")));
    }
    for old in &before.devices {
        if !now.devices.iter().any(|device| device.device.uuid == old.device.uuid) {
            lines.push(format!("GPU {}: disappeared", old.device.index));
        }
    }
    lines
}

fn device_changes(before: &DeviceReport, now: &DeviceReport) -> Vec<String> {
    let mut changes: Vec<String> = now
        .holders
        .iter()
        .filter_map(|holder| match before.holders.iter().find(|old| is_same(old, holder)) {
            None => Some(format!("{} appeared{}", name(holder), with(holder.bytes))),
            Some(old) => difference(old, holder),
        })
        .collect();
    let gone = before.holders.iter().filter(|old| !now.holders.iter().any(|new| is_same(old, new)));
    changes.extend(gone.map(|old| format!("{} disappeared{}", name(old), with(old.bytes))));
    changes.extend(new_suspicions(before, now));
    // Memory that nobody is seen to hold changes too.
    if changes.is_empty() && before.device.memory != now.device.memory {
        changes.push(format!(
            "previously {} free; no listed process changed",
            Bytes(before.device.memory.free)
        ));
    }
    changes
}

/// The same number later may be another process.
fn is_same(one: &Holder, other: &Holder) -> bool {
    one.pid == other.pid && one.started == other.started
}

fn difference(before: &Holder, now: &Holder) -> Option<String> {
    let (old, new) = (before.bytes.unwrap_or(0), now.bytes.unwrap_or(0));
    let name = name(now);
    if new > old {
        Some(format!("{name} allocated {} more and holds {}", Bytes(new - old), Bytes(new)))
    } else if new < old {
        Some(format!("{name} freed {} and holds {}", Bytes(old - new), Bytes(new)))
    } else {
        None
    }
}

fn new_suspicions(before: &DeviceReport, now: &DeviceReport) -> Vec<String> {
    let is_new = |kind, pids: &[u32]| {
        !before.suspicions.iter().any(|old| old.kind == kind && old.pids == pids)
    };
    let new = now.suspicions.iter().filter(|one| is_new(one.kind, &one.pids));
    new.map(|one| format!("{}: {}", kind_name(one.kind), visible(&one.headline))).collect()
}

fn name(holder: &Holder) -> String {
    let command = without_folder(&holder_command(holder));
    let command: String = command.chars().take(COMMAND).collect();
    format!("process {} ({}: {command})", holder.pid, visible(user(holder)))
}

fn with(bytes: Option<u64>) -> String {
    bytes.map_or(String::new(), |bytes| format!(" with {}", Bytes(bytes)))
}
