//! The model of a whole run, where the recording itself keeps only its last events.

use whyoom_files::folder::Folder;
use whyoom_flight::{CHECKPOINT, Checkpoint, Unusable};
use whyoom_recording::Recording;

/// What a recording's events are read with.
pub(crate) enum WholeRun {
    /// They are all that there is.
    InEvents,
    /// The model that `whyoom run --flight` made of all events.
    InModel(Box<Checkpoint>),
    /// There is such a model, but it cannot be used: why, and what that means.
    Lost(String),
}

impl WholeRun {
    /// What there is in a recording's folder.
    pub(crate) fn of(folder: &Folder) -> Self {
        if !folder.entry(CHECKPOINT).exists() || !has_dropped(folder) {
            return Self::InEvents;
        }
        match Checkpoint::read(folder) {
            Ok(checkpoint) => Self::InModel(Box::new(checkpoint)),
            Err(why) => Self::Lost(without(&why)),
        }
    }
}

/// What a verdict lacks without the model.
fn without(why: &Unusable) -> String {
    format!("{why}: peak, growth and what is live are those of the last events alone")
}

/// Whether ring mode has dropped anything.
fn has_dropped(folder: &Folder) -> bool {
    let recording = Recording::open(folder);
    recording.is_ok_and(|recording| recording.parts().iter().any(|part| part.dropped_events > 0))
}
