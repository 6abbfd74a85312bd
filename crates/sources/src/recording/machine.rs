//! What is known of the machine beside the events: who is who, and who held memory at a failure.

use std::{collections::BTreeMap, path::Path};

use whyoom_recording::{PartInfo, Recording};
use whyoom_trace::{
    Action, Bytes, Counter, DeviceId, Event, ProcessId, ResultCode, StackId, Standing, StringId,
    Tables,
};

use super::looks::{Look, Looks};

/// A longer command is cut.
const LONGEST_COMMAND: usize = 60;

/// What is known beside the events, with its names in the tables.
#[derive(Debug, Default)]
pub(super) struct Machine {
    /// The processes by the names that the recording's reader gives them.
    pub(super) processes: BTreeMap<String, ProcessId>,
    /// Their numbers.
    pub(super) pids: BTreeMap<ProcessId, u32>,
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
        let (mut processes, mut pids) = (BTreeMap::new(), BTreeMap::new());
        for part in recording.parts() {
            let name = readable_name(part);
            let process = tables.process_named(&name).unwrap_or_else(|| tables.process(name));
            processes.insert(part.name(), process);
            pids.insert(process, part.pid);
        }
        Self { processes, pids, looks, commands }
    }

    /// The process of a number; of several programs that it ran, the last.
    pub(super) fn process(&self, pid: u32) -> Option<ProcessId> {
        self.pids.iter().rev().find(|(_, known)| **known == pid).map(|(process, _)| *process)
    }

    /// What was seen because of a failure. The process may see the devices that `visible` names.
    pub(super) fn seen(&self, failure: &Event, visible: Option<&str>) -> Vec<Event> {
        let pid = self.pids.get(&failure.origin.process);
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

/// A process's command as people know it, and its number: without the program's folder, in one line, not
/// too long.
fn readable_name(part: &PartInfo) -> String {
    let mut words = part.command.iter().map(String::as_str);
    let program = words.next().map(|word| word.rsplit('/').next().unwrap_or(word));
    let command = program.into_iter().chain(words).collect::<Vec<_>>().join(" ");
    let command = command.split(|c: char| c.is_whitespace() || c.is_control());
    let command = command.filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ");
    let (mut shown, pid) = (command.clone(), part.pid);
    if command.chars().count() > LONGEST_COMMAND {
        shown = command.chars().take(LONGEST_COMMAND - 1).chain(['…']).collect();
    }
    if shown.is_empty() { format!("process {pid}") } else { format!("{shown} (PID {pid})") }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_for_people() {
        let name = |words: &[&str]| {
            let command = words.iter().map(|&word| word.to_owned()).collect();
            readable_name(&PartInfo { command, pid: 7, ..PartInfo::default() })
        };
        assert_eq!(
            name(&["/opt/venv/bin/python", "/data/train.py"]),
            "python /data/train.py (PID 7)"
        );
        assert_eq!(name(&["sh", "-c", "a\n\tb\u{1b}"]), "sh -c a b (PID 7)");
        assert_eq!(name(&[]), "process 7");
        assert_eq!(name(&["x".repeat(99).as_str()]), format!("{}… (PID 7)", "x".repeat(59)));
    }
}
