//! A run that is followed.

use std::{io, path::Path, time::SystemTime};

use whyoom_memory::Model;
use whyoom_sources::recording::{Follower, Resolve};
use whyoom_trace::Tables;

use crate::{about::About, checkpoint::Checkpoint, watching::Watching};

/// A run that is followed: its model, and how far it is.
#[derive(Debug)]
pub struct Flight {
    follower: Follower,
    model: Model,
    tables: Tables,
}

impl Flight {
    /// Follows the recording in a folder, which may still be empty.
    #[must_use]
    pub fn new(folder: &Path) -> Self {
        let (mut model, tables) = (Model::default(), Tables::default());
        model.begin_launch(tables.next_process());
        Self { follower: Follower::new(folder), model, tables }
    }

    /// Takes what was written until about half a second ago; how many events that were.
    ///
    /// # Errors
    /// Where the folder cannot be read.
    pub fn advance(&mut self, resolve: &mut dyn Resolve) -> io::Result<u64> {
        self.follower.advance(resolve, &mut self.tables, &mut self.model)
    }

    /// Takes all that is there, and how the run ended. What comes later is not seen.
    ///
    /// # Errors
    /// Where the folder cannot be read.
    pub fn finish(&mut self, resolve: &mut dyn Resolve) -> io::Result<()> {
        self.follower.finish(resolve, &mut self.tables, &mut self.model)
    }

    /// Memory over the whole run, as far as it was followed.
    #[must_use]
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// What the model names by id.
    #[must_use]
    pub fn tables(&self) -> &Tables {
        &self.tables
    }

    /// Whether ring mode has dropped anything: else the files alone tell the whole run.
    #[must_use]
    pub fn has_dropped(&self) -> bool {
        self.follower.has_dropped()
    }

    /// Whether a recorded process still runs.
    #[must_use]
    pub fn is_running(&self) -> bool {
        self.follower.is_running()
    }

    /// What the model is made from by now.
    #[must_use]
    pub fn about(&self, finished: bool) -> About {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        About {
            time: u64::try_from(now.as_nanos()).unwrap_or(u64::MAX),
            by: Watching::this_process(),
            finished,
            events: self.follower.events(),
            dropped_unseen: self.follower.unseen().dropped,
            notes: self.follower.notes(&self.tables),
        }
    }

    /// Writes the model into the recording's folder, in place of an earlier one.
    ///
    /// # Errors
    /// Where it cannot be written; the earlier one stays.
    pub fn save(&self, folder: &Path) -> io::Result<()> {
        Checkpoint::write(folder, &self.about(false), &self.model, &self.tables)
    }

    /// Ends: the model as it is saved for good.
    #[must_use]
    pub fn into_checkpoint(self) -> Checkpoint {
        Checkpoint { about: self.about(true), model: self.model, tables: self.tables }
    }
}
