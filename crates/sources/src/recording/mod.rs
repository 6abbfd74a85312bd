//! The importer of recordings that `whyoom run` makes.
//!
//! The recorder writes what it sees: driver calls, PyTorch's blocks, failures. Here that becomes what
//! the model expects of every source: driver memory that blocks lie in becomes segments, a refusal that
//! PyTorch's allocator recovers from is no failure, and what was seen of the machine at a failure goes
//! before it.

mod device_names;
mod ending;
mod folder;
#[cfg(target_os = "linux")]
mod follow;
mod ledger;
mod machine;
mod machine_samples;
mod nearby;
mod process;
mod queue;
mod quiet;
mod recent;
#[cfg(test)]
mod tests;
mod translate;

use thiserror::Error;
use whyoom_files::folder::Folder;
use whyoom_recording::{OpenError, PartInfo, ReadError, Recording};
use whyoom_trace::{
    Action, DeviceId, Event, EventSink, Origin, ProcessId, Software, Tables, Time, facts::Fact,
};

pub use self::{
    ending::{Applied, ENDING, Ending, MAX_ENDING_BYTES},
    folder::{has_recorded, is_recording},
    machine_samples::{
        MACHINE_SAMPLES, MACHINE_SAMPLES_NAMES, MAX_MACHINE_SAMPLES_BYTES, MachineSample,
        SeenDevice, SeenHolder, SeenModel, holder_start_ticks,
    },
};
use self::{
    machine::Machine,
    translate::{Found, Translator},
};
#[cfg(target_os = "linux")]
pub use follow::Follower;
#[cfg(target_os = "linux")]
pub use whyoom_recording::Unseen;
pub use whyoom_recording::{Resolve, Unresolved};

/// Disagreements beyond these are of the same kind.
const TOLD: usize = 3;

/// What an import found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RecordingSummary {
    /// How many events the recording holds.
    pub events: u64,
    /// What is worth saying of it: what it lacks, in words.
    pub notes: Vec<String>,
}

/// The beginning of the recorder's reason to stop on a full disk.
const DISK_FULL: &str = "the disk of the recording is full";

/// Why a recording was not imported.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum RecordingError {
    /// It was not opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// It was not read.
    #[error(transparent)]
    Read(#[from] ReadError),
}

/// Imports the recording in a folder. Processes are named by their command and number; those that the
/// tables know by these names already are the same.
///
/// # Errors
/// When there is no recording, or it cannot be read. What is damaged or missing of one is no error: the
/// summary's notes tell.
pub fn import(
    folder: impl Into<Folder>,
    resolve: &mut dyn Resolve,
    tables: &mut Tables,
    sink: &mut dyn EventSink,
) -> Result<RecordingSummary, RecordingError> {
    let folder = &folder.into();
    let recording = match (Recording::open(folder), Ending::read(folder)) {
        (Err(OpenError::Empty(_)), Some(ending)) => {
            return Ok(emit_nothing_recorded(&ending, tables, sink));
        }
        (Err(OpenError::Empty(_)), None) if Ending::is_cut(folder) => {
            emit_disk_full(ProcessId::default(), false, tables, sink);
            return Ok(RecordingSummary::default());
        }
        (opened, _) => opened?,
    };
    let machine = Machine::read(folder, recording.parts(), tables);
    let mut translator = Translator::new(sink, &machine);
    let losses = recording.read(resolve, tables, &mut translator)?;
    let found = translator.finish(tables);
    match Ending::read(folder) {
        Some(ending) => emit_ending(&ending, &machine, tables, sink),
        None if found.events == 0 => emit_empty(&machine, tables, sink),
        None => {}
    }
    if found.events == 0 {
        emit_stop(recording.parts(), &machine, tables, sink);
    }
    let mut notes = losses.words();
    notes.extend(disagreements(&found, tables));
    Ok(RecordingSummary { events: found.events, notes })
}

/// What the starter tells of the run that has ended.
fn emit_ending(ending: &Ending, machine: &Machine, tables: &mut Tables, sink: &mut dyn EventSink) {
    emit_command(ending, machine, tables, sink);
    emit_end(ending, machine, tables, sink);
    emit_kill(ending, machine, tables, sink);
}

/// Neither an event nor an end.
fn emit_empty(machine: &Machine, tables: &Tables, sink: &mut dyn EventSink) {
    let process = machine.any_process().unwrap_or_default();
    let origin = Origin { process, ..Origin::default() };
    let action = Action::Fact { fact: Fact::EmptyRecording };
    sink.event(&Event { origin, action, ..Event::default() }, tables);
}

/// What was typed: words with zeros between, since a word may hold blanks.
fn emit_command(ending: &Ending, machine: &Machine, tables: &mut Tables, sink: &mut dyn EventSink) {
    let Some(process) = machine.process(ending.pid).or_else(|| machine.any_process()) else {
        return;
    };
    let words = tables.string(&ending.command.join("\0"));
    tell(process, ending, Fact::Command { words }, tables, sink);
}

/// How the command ended, as far as that is worth a word: a process that a signal ends tells no end of its own,
/// and its starter's word stands for it.
fn emit_end(ending: &Ending, machine: &Machine, tables: &mut Tables, sink: &mut dyn EventSink) {
    let only = || machine.any_process().filter(|_| machine.pids.len() == 1);
    let own = machine.process(ending.pid).or_else(only);
    // What failed may be any of the processes.
    let any = own.or_else(|| machine.any_process());
    let signal = own.zip(ending.ended_by().map(|signal| Fact::Signal { signal }));
    let status = any.zip(ending.failed_with().map(|status| Fact::Status { status }));
    for (process, fact) in signal.into_iter().chain(status) {
        tell(process, ending, fact, tables, sink);
    }
}

/// What the starter tells of a process.
fn tell(
    process: ProcessId,
    ending: &Ending,
    fact: Fact,
    tables: &Tables,
    sink: &mut dyn EventSink,
) {
    let origin = Origin { process, ..Origin::default() };
    let action = Action::Fact { fact };
    sink.event(&Event { time: Time(ending.time), origin, action, ..Event::default() }, tables);
}

/// A run of which nothing was recorded but its end.
fn emit_nothing_recorded(
    ending: &Ending,
    tables: &mut Tables,
    sink: &mut dyn EventSink,
) -> RecordingSummary {
    let machine = Machine::default();
    let process = tables.process(ending.command.join(" "));
    let words = tables.string(&ending.command.join("\0"));
    tell(process, ending, Fact::Command { words }, tables, sink);
    if ending.disk_full {
        emit_disk_full(process, true, tables, sink);
    }
    emit_kill(ending, &machine, tables, sink);
    RecordingSummary::default()
}

/// Emits the recorder's reason to stop before it recorded anything, if a process has one.
fn emit_stop(parts: &[PartInfo], machine: &Machine, tables: &mut Tables, sink: &mut dyn EventSink) {
    let Some(part) = parts.iter().find(|part| !part.stopped.is_empty()) else { return };
    let process = machine.process(part.pid).or_else(|| machine.any_process()).unwrap_or_default();
    if part.stopped.starts_with(DISK_FULL) {
        emit_disk_full(process, true, tables, sink);
        return;
    }
    let origin = Origin { process, ..Origin::default() };
    let fact = Fact::RecorderStopped { reason: tables.string(&part.stopped) };
    sink.event(&Event { origin, action: Action::Fact { fact }, ..Event::default() }, tables);
}

/// Emits that nothing could be recorded, because the disk was full.
fn emit_disk_full(process: ProcessId, seen: bool, tables: &Tables, sink: &mut dyn EventSink) {
    let origin = Origin { process, ..Origin::default() };
    let action = Action::Fact { fact: Fact::DiskFull { seen } };
    sink.event(&Event { origin, action, ..Event::default() }, tables);
}

/// Signal 9 leaves no word of its own: its starter's word stands for it.
fn emit_kill(ending: &Ending, machine: &Machine, tables: &mut Tables, sink: &mut dyn EventSink) {
    let Some((symptom, text)) = ending.symptom() else { return };
    let process = machine.process(ending.pid);
    let process = process.unwrap_or_else(|| tables.process(ending.command.join(" ")));
    let text = tables.string(&text);
    let symptom = Action::Symptom { symptom, software: Software::Supervisor, text };
    let samples = ending.group_memory();
    let samples = samples.map(|(counter, bytes)| Action::Sample { counter, bytes });
    let origin = Origin { process, device: DeviceId::HOST, ..Origin::default() };
    for action in samples.chain([symptom]) {
        let event = Event { time: Time(ending.time), origin, action, ..Event::default() };
        sink.event(&event, tables);
    }
}

fn disagreements(found: &Found, tables: &Tables) -> Vec<String> {
    let told = found.disagreements.iter().take(TOLD);
    told.map(|(process, device, theirs, ours)| {
        format!(
            "the allocator says that it had reserved {theirs} on {device} when memory ran out, the driver \
             calls that were recorded add up to {ours} ({})",
            tables.process_name(*process)
        )
    })
    .collect()
}
