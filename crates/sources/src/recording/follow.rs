//! The importer of a recording that is still written: every event passes once, before ring mode drops it.

use std::{
    fs, io,
    path::Path,
    time::{Duration, Instant},
};

use whyoom_files::folder::Folder;
use whyoom_recording::{self as recording, Ending, Resolve, Unseen};
use whyoom_trace::{EventSink, Tables};

use super::{
    MACHINE_SAMPLES, disagreements, emit_ending,
    machine::Machine,
    translate::{Paused, Translator},
};

/// A thread that takes longer than this from an event to its record is late.
const DELAY: Duration = Duration::from_millis(500);
/// A failure is handed on when the machine was sampled for it: the longest that this takes.
const LONGEST_SAMPLE: Duration = Duration::from_millis(1200);
/// The first failures of a process are waited for; a loop that retries has thousands.
const MOST_AWAITED: u32 = 64;
/// How often the state of very many processes is read again.
const REFRESH: Duration = Duration::from_millis(500);
/// That of so many is read each time.
const FEW: usize = 32;

/// Imports a recording while it is written. It keeps nothing of what has passed but what the translation needs.
#[derive(Debug)]
pub struct Follower {
    folder: Folder,
    reader: recording::Follower,
    machine: Machine,
    /// How many of the reader's processes the machine knows.
    known: usize,
    /// The length of the machine samples that were read.
    samples: u64,
    paused: Paused,
    refreshed: Option<Instant>,
    failures: u64,
    /// When a failure was found that the machine is sampled for.
    failed: Option<Instant>,
}

impl Follower {
    /// Follows the recording in a folder, which may still be empty.
    #[must_use]
    pub fn new(folder: &Path) -> Self {
        Self {
            folder: folder.into(),
            reader: recording::Follower::new(folder),
            machine: Machine::default(),
            known: 0,
            samples: 0,
            paused: Paused::default(),
            refreshed: None,
            failures: 0,
            failed: None,
        }
    }

    /// Hands on what was written until about half a second ago; how many events that were.
    ///
    /// # Errors
    /// Where the folder cannot be read.
    pub fn advance(
        &mut self,
        resolve: &mut dyn Resolve,
        tables: &mut Tables,
        sink: &mut dyn EventSink,
    ) -> io::Result<u64> {
        self.reader.look()?;
        self.refresh();
        let waited = self.failed.map(|failed| failed.elapsed());
        if waited.is_some_and(|waited| waited > LONGEST_SAMPLE) {
            self.failed = None;
        }
        let delay = DELAY + waited.unwrap_or_default();
        Ok(self.take(Some(delay), resolve, tables, sink))
    }

    /// Hands on all that is there, and what the starter tells of the end. Nothing follows.
    ///
    /// # Errors
    /// Where the folder cannot be read.
    pub fn finish(
        &mut self,
        resolve: &mut dyn Resolve,
        tables: &mut Tables,
        sink: &mut dyn EventSink,
    ) -> io::Result<()> {
        // What is read of a segment is counted by the next look.
        for _ in 0..2 {
            self.reader.look()?;
            self.take(None, resolve, tables, sink);
        }
        self.reader.look()?;
        self.reader.refresh();
        let paused = std::mem::take(&mut self.paused);
        self.paused.found = Translator::resume(paused, sink, &self.machine).finish(tables);
        if let Some(ending) = super::Ending::read(&self.folder) {
            emit_ending(&ending, &self.machine, tables, sink);
        }
        Ok(())
    }

    /// How many events were handed on, as they were recorded.
    #[must_use]
    pub fn events(&self) -> u64 {
        self.reader.read()
    }

    /// What ring mode dropped before it was read, and what came late.
    #[must_use]
    pub fn unseen(&self) -> Unseen {
        self.reader.unseen()
    }

    /// Whether ring mode has dropped anything: then the files alone do not tell the whole run.
    #[must_use]
    pub fn has_dropped(&self) -> bool {
        self.reader.parts().any(|part| part.dropped_events > 0)
    }

    /// Whether a recorded process still runs.
    #[must_use]
    pub fn is_running(&self) -> bool {
        self.reader.parts().any(|part| part.ending == Ending::Running)
    }

    /// What is worth saying of what passed: what is missing, in words.
    #[must_use]
    pub fn notes(&self, tables: &Tables) -> Vec<String> {
        let mut losses = self.reader.losses().clone();
        for part in self.reader.parts().filter(|part| !part.stopped.is_empty()).take(16) {
            losses.stopped.push(format!("{} stopped recording: {}.", part.name(), part.stopped));
        }
        losses.stand_ins = self.reader.parts().map(|part| part.stand_ins).sum();
        let Unseen { dropped, late } = self.unseen();
        let mut notes = losses.words();
        notes.extend((dropped > 0).then(|| {
            format!(
                "{dropped} events were dropped before they were read: growth and peak are not exact. A larger \
                 --limit keeps more."
            )
        }));
        notes.extend((late > 0).then(|| format!("{late} events came late and are out of order.")));
        notes.extend(disagreements(&self.paused.found, tables));
        notes
    }

    fn take(
        &mut self,
        delay: Option<Duration>,
        resolve: &mut dyn Resolve,
        tables: &mut Tables,
        sink: &mut dyn EventSink,
    ) -> u64 {
        self.meet(tables);
        let before = self.reader.read();
        let paused = std::mem::take(&mut self.paused);
        let mut translator = Translator::resume(paused, sink, &self.machine);
        self.reader.advance(delay, resolve, tables, &mut translator);
        self.paused = translator.pause();
        self.reader.read() - before
    }

    /// Learns of new processes, and of what was seen of the machine since.
    fn meet(&mut self, tables: &mut Tables) {
        for part in self.reader.parts().skip(self.known) {
            self.machine.add(part, tables);
            self.known += 1;
        }
        let samples = fs::symlink_metadata(self.folder.path().join(MACHINE_SAMPLES));
        let samples = samples.map_or(0, |found| found.len());
        if samples != self.samples {
            self.samples = samples;
            self.machine.take_samples(&self.folder, tables);
        }
    }

    /// Reads the state of the processes, now and then; a new failure holds back what comes after it.
    fn refresh(&mut self) {
        let is_fresh = self.refreshed.is_some_and(|refreshed| refreshed.elapsed() < REFRESH);
        if is_fresh && self.known > FEW {
            return;
        }
        self.refreshed = Some(Instant::now());
        self.reader.refresh();
        let failures = self.reader.parts().map(|part| u64::from(part.failures.min(MOST_AWAITED)));
        let failures: u64 = failures.sum();
        if failures > self.failures {
            self.failed.get_or_insert_with(Instant::now);
        }
        self.failures = failures;
    }
}
