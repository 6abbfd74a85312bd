//! The importer of recordings that `whyoom run` makes.
//!
//! The recorder writes what it sees: driver calls, PyTorch's blocks, failures. Here that becomes what
//! the model expects of every source: driver memory that blocks lie in becomes segments, a refusal that
//! PyTorch's allocator recovers from is no failure, and what was seen of the machine at a failure goes
//! before it.

mod ending;
mod ledger;
mod looks;
mod machine;
mod process;
mod queue;
#[cfg(test)]
mod tests;
mod translate;

use std::path::Path;

use thiserror::Error;
use whyoom_recording::{OpenError, ReadError, Recording};
use whyoom_trace::{Action, DeviceId, Event, EventSink, Origin, Software, Tables, Time};

pub use self::{
    ending::{ENDING, Ending},
    looks::{LOOKS, Look, SeenDevice, SeenHolder},
};
use self::{
    machine::Machine,
    translate::{Found, Translator},
};
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
    folder: &Path,
    resolve: &mut dyn Resolve,
    tables: &mut Tables,
    sink: &mut dyn EventSink,
) -> Result<RecordingSummary, RecordingError> {
    let recording = Recording::open(folder)?;
    let machine = Machine::read(folder, &recording, tables);
    let mut translator = Translator::new(sink, &machine);
    let losses = recording.read(resolve, tables, &mut translator)?;
    let found = translator.finish(tables);
    if let Some(ending) = Ending::read(folder) {
        tell_of_kill(&ending, &machine, tables, sink);
    }
    let mut notes = losses.words();
    notes.extend(disagreements(&found, tables));
    Ok(RecordingSummary { events: found.events, notes })
}

/// Signal 9 leaves no word of its own: its starter's word stands for it.
fn tell_of_kill(ending: &Ending, machine: &Machine, tables: &mut Tables, sink: &mut dyn EventSink) {
    let Some((symptom, text)) = ending.symptom() else { return };
    let process = machine.process(ending.pid);
    let process = process.unwrap_or_else(|| tables.process(ending.command.join(" ")));
    let text = tables.string(&text);
    let action = Action::Symptom { symptom, software: Software::Supervisor, text };
    let origin = Origin { process, device: DeviceId::HOST, ..Origin::default() };
    let event = Event { time: Time(ending.time), origin, action, ..Event::default() };
    sink.event(&event, tables);
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
