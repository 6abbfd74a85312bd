//! What is known of the machine beside the events: who is who, and who held memory at a failure.

use std::{cell::Cell, collections::BTreeMap};

use whyoom_files::folder::Folder;
use whyoom_recording::PartInfo;
use whyoom_redact::mask_words;
use whyoom_trace::{
    Action, Bytes, Counter, DeviceId, Event, ProcessId, ProcessState, ResultCode, StackId,
    StringId, Tables, facts::Fact,
};

use super::{
    device_names::DeviceNames,
    machine_samples::{MachineSample, MachineSamples, SeenHolder},
};

/// Devices beyond these are not told of.
const MOST_DEVICES: u16 = 16;
/// What is told of the machine at all failures together: one look may stand for many, each with every holder.
const MOST_TOLD: usize = 1 << 17;
/// A longer command is cut.
const LONGEST_COMMAND: usize = 60;

/// What is known beside the events, with its names in the tables.
#[derive(Debug, Default)]
pub(super) struct Machine {
    /// The processes by the names that the recording's reader gives them.
    pub(super) processes: BTreeMap<String, ProcessId>,
    /// Their numbers.
    pub(super) pids: BTreeMap<ProcessId, u32>,
    pub(super) machine_samples: MachineSamples,
    /// The words that looks hold: commands, and models of GPUs.
    pub(super) texts: BTreeMap<String, StringId>,
    /// The names of the processes, by their numbers.
    pub(super) names: BTreeMap<u32, StringId>,
    /// How much of it was told at failures.
    pub(super) told: Cell<usize>,
}

impl Machine {
    /// Reads what lies beside a recording of these processes.
    pub(super) fn read<'a>(
        folder: &Folder,
        parts: impl IntoIterator<Item = &'a PartInfo>,
        tables: &mut Tables,
    ) -> Self {
        let mut machine = Self::default();
        machine.take_samples(folder, tables);
        parts.into_iter().for_each(|part| machine.add(part, tables));
        machine
    }

    /// Reads what was seen of the machine so far.
    pub(super) fn take_samples(&mut self, folder: &Folder, tables: &mut Tables) {
        self.machine_samples = MachineSamples::read(folder);
        let devices = self.machine_samples.iter().flat_map(|look| &look.devices);
        let holders = devices.clone().flat_map(|device| &device.holders);
        let commands = holders.clone().map(|holder| holder.command.clone());
        let models = devices.filter_map(|device| Some(device.model.as_ref()?.name.clone()));
        let texts = commands.chain(models);
        self.texts = texts.map(|text| (text.clone(), tables.string(&text))).collect();
    }

    /// Takes a process that was recorded.
    pub(super) fn add(&mut self, part: &PartInfo, tables: &mut Tables) {
        let name = readable_name(part);
        self.names.insert(part.pid, tables.string(&name));
        let process = tables.process_named(&name).unwrap_or_else(|| tables.process(name));
        self.processes.insert(part.name(), process);
        self.pids.insert(process, part.pid);
    }

    /// The process of a number; of several programs that it ran, the last.
    pub(super) fn process(&self, pid: u32) -> Option<ProcessId> {
        self.pids.iter().rev().find(|(_, known)| **known == pid).map(|(process, _)| *process)
    }

    /// The first of the processes: what is true of all of them can be told of it.
    pub(super) fn any_process(&self) -> Option<ProcessId> {
        self.pids.keys().next().copied()
    }

    /// What was seen because of a failure. The process calls the devices by those names.
    pub(super) fn seen(&self, failure: &Event, names: &DeviceNames) -> Vec<Event> {
        if self.told.get() >= MOST_TOLD {
            return Vec::new();
        }
        let pid = self.pids.get(&failure.origin.process);
        let Some(look) = pid.and_then(|pid| self.machine_samples.after(*pid, failure.time.0))
        else {
            return Vec::new();
        };
        let actions = self.actions(look, failure.origin.device, names);
        self.told.set(self.told.get() + actions.len());
        actions.into_iter().map(|action| beside(failure, action)).collect()
    }

    /// The least that a process was seen to use of each device: where it took nothing, that is its context.
    pub(super) fn used(&self, process: ProcessId, names: &DeviceNames) -> Vec<Action> {
        let Some(pid) = self.pids.get(&process) else { return Vec::new() };
        let machine_samples = || self.machine_samples.iter().filter(|look| look.pid == *pid);
        let least = |device: u16| {
            let seen = machine_samples()
                .filter_map(|look| look.device(DeviceId(device), names)?.bytes_of(*pid));
            Some((device, seen.min()?))
        };
        let fact = |(device, bytes)| Action::Fact {
            fact: Fact::MinUsage { device: DeviceId(device), bytes: Bytes(bytes) },
        };
        (0..MOST_DEVICES).filter_map(least).map(fact).collect()
    }

    fn actions(&self, look: &MachineSample, device: DeviceId, names: &DeviceNames) -> Vec<Action> {
        let Some(device) = look.device(device, names) else { return Vec::new() };
        let sample = |counter, bytes| Action::Sample { counter, bytes: Bytes(bytes) };
        let mut actions = vec![
            sample(Counter::DeviceTotal, device.total),
            sample(Counter::DeviceFree, device.free),
        ];
        let text = |text: &str| self.texts.get(text).copied().unwrap_or_default();
        let model = device
            .model
            .as_ref()
            .map(|model| Fact::Gpu { model: text(&model.name), total: Bytes(model.total) });
        let ages = device.holders.iter().filter_map(age);
        actions.extend(ages.chain(model).map(|fact| Action::Fact { fact }));
        // In some containers NVML lists a process and does not know what it holds.
        for holder in device.holders.iter().filter(|holder| holder.bytes > 0) {
            actions.push(if holder.pid == look.pid {
                sample(Counter::ProcessUsed, holder.bytes)
            } else {
                // Whatever the system says of a process of this run: it is neither lost nor a stranger.
                let name = self.names.get(&holder.pid).map(|name| (*name, ProcessState::Recorded));
                let (command, standing) =
                    name.unwrap_or_else(|| (text(&holder.command), holder.standing));
                Action::Holder { pid: holder.pid, bytes: Bytes(holder.bytes), command, standing }
            });
        }
        actions
    }
}

/// How long a holder had run.
fn age(holder: &SeenHolder) -> Option<Fact> {
    Some(Fact::Age { pid: holder.pid, seconds: holder.age? })
}

/// A process's command as people know it, and its number: without the program's folder, in one line, not
/// too long.
fn readable_name(part: &PartInfo) -> String {
    // One that an older recorder wrote may hold secrets.
    let command = mask_words(&part.command);
    let mut words = command.iter().map(String::as_str);
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
