//! What is known of the machine beside the events: who is who, and who held memory at a failure.

use std::{collections::BTreeMap, path::Path};

use whyoom_recording::Recording;
use whyoom_trace::{
    Action, Bytes, Counter, DeviceId, Event, ResultCode, StackId, Standing, StringId, Tables,
};

use super::looks::{Look, Looks};

/// What is known beside the events, with its names in the tables.
#[derive(Debug, Default)]
pub(super) struct Machine {
    /// The processes' numbers, by their names.
    pub(super) pids: BTreeMap<String, u32>,
    pub(super) looks: Looks,
    pub(super) commands: BTreeMap<String, StringId>,
}

impl Machine {
    /// Reads what lies beside a recording.
    pub(super) fn read(folder: &Path, recording: &Recording, tables: &mut Tables) -> Self {
        let looks = Looks::read(folder);
        let devices = looks.iter().flat_map(|look| &look.devices);
        let holders = devices.flat_map(|device| &device.holders);
        let commands = holders
            .map(|holder| (holder.command.clone(), tables.string(&holder.command)))
            .collect();
        let pids = recording.parts().iter().map(|part| (part.name(), part.pid)).collect();
        Self { pids, looks, commands }
    }

    /// What was seen because of a failure. The process may see the devices that `visible` names.
    pub(super) fn seen(
        &self,
        failure: &Event,
        visible: Option<&str>,
        tables: &Tables,
    ) -> Vec<Event> {
        let pid = self.pids.get(tables.process_name(failure.origin.process));
        let Some(look) = pid.and_then(|pid| self.looks.after(*pid, failure.time.0)) else {
            return Vec::new();
        };
        let actions = self.actions(look, failure.origin.device, visible).into_iter();
        actions.map(|action| beside(failure, action)).collect()
    }

    fn actions(&self, look: &Look, device: DeviceId, visible: Option<&str>) -> Vec<Action> {
        let Some(device) = look.device(device.0, visible) else { return Vec::new() };
        let sample = |counter, bytes| Action::Sample { counter, bytes: Bytes(bytes) };
        let mut actions = vec![
            sample(Counter::DeviceTotal, device.total),
            sample(Counter::DeviceFree, device.free),
        ];
        for holder in &device.holders {
            actions.push(if holder.pid == look.pid {
                sample(Counter::ProcessUsed, holder.bytes)
            } else {
                let command = self.commands.get(&holder.command).copied();
                Action::Holder {
                    pid: holder.pid,
                    bytes: Bytes(holder.bytes),
                    command: command.unwrap_or_default(),
                    standing: holder.standing,
                }
            });
        }
        actions
    }
}

/// What a process that had ended before it was looked at used: what the others did not. Where some are
/// named by numbers of another namespace it may be one of these, and nothing can be said.
pub(super) fn rest_of_device(failure: &Event, samples: &[Event], seen: &[Event]) -> Option<Event> {
    let mut others = None;
    for event in seen {
        match event.action {
            Action::Sample { counter: Counter::ProcessUsed, .. }
            | Action::Holder { standing: Standing::Ghost, .. } => return None,
            Action::Holder { bytes, .. } => {
                others = Some(others.unwrap_or(Bytes::ZERO).plus(bytes));
            }
            _ => {}
        }
    }
    let sample = |wanted| {
        samples.iter().rev().find_map(|event| match event.action {
            Action::Sample { counter, bytes } if counter == wanted => Some(bytes),
            _ => None,
        })
    };
    let used = sample(Counter::DeviceTotal)?.minus(sample(Counter::DeviceFree)?);
    let bytes = used.minus(others?);
    Some(beside(failure, Action::Sample { counter: Counter::ProcessUsed, bytes }))
}

/// An event that goes before a failure.
fn beside(failure: &Event, action: Action) -> Event {
    Event { action, stack: StackId(0), result: ResultCode(0), ..*failure }
}
