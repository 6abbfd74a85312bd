//! What the recorders of `whyoom run` inside running processes say of them now.
//!
//! A process says by its environment where it is recorded, and `who` is often run by root: what is found
//! there is that process's choice of words. It is believed only where the part file is the process's own, and
//! of another user's process only the figures in it are read.

mod told;

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
    sync::mpsc,
    time::{Duration, Instant},
};

use whyoom_memory::{Model, sums_by_call_site};
use whyoom_node::{NodeReport, Recorded, RecordedPlace};
use whyoom_sources::recording;
use whyoom_symbols::Symbols;
use whyoom_trace::{Bytes, DeviceId, Event, EventSink, Tables};

use self::told::LiveStatus;

/// A recording is read again no sooner: that takes time in proportion to it.
const BETWEEN_READINGS: Duration = Duration::from_secs(5);
/// Longer recordings are not read for a look.
const MOST_EVENTS: u64 = 2_000_000;
/// Of so many processes at most the recording is read.
const MOST_READ: usize = 4;
/// Places beyond these are left out.
const MOST_PLACES: usize = 8;
/// So long a process's folder may take to answer: it may lie on a file system that nobody serves.
const LONGEST_ANSWER: Duration = Duration::from_millis(500);

/// Asks recorders, and remembers what takes long to find out.
#[derive(Default)]
pub(crate) struct Recorders {
    reads_places: bool,
    places: BTreeMap<u32, (Instant, Vec<RecordedPlace>)>,
    /// Processes that did not answer in time: they are not asked again.
    silent: BTreeSet<u32>,
}

impl Recorders {
    /// Also reads the recordings, for where the live memory was asked for. That takes a moment.
    pub(crate) fn with_places() -> Self {
        Self { reads_places: true, ..Self::default() }
    }

    /// Adds to a report what recorders inside its holders say.
    pub(crate) fn fill(&mut self, report: &mut NodeReport) {
        let mut asked = BTreeMap::new();
        for device in &mut report.devices {
            for holder in &mut device.holders {
                let pid = holder.pid;
                let recorded = asked.entry(pid).or_insert_with(|| self.ask(pid));
                holder.recorded.clone_from(recorded);
            }
        }
        self.places.retain(|pid, _| asked.contains_key(pid));
        self.silent.retain(|pid| asked.contains_key(pid));
    }

    /// What a recorder inside a process says; nothing where there is none, or where the process's
    /// environment may not be read.
    fn ask(&mut self, pid: u32) -> Option<Recorded> {
        if self.silent.contains(&pid) {
            return None;
        }
        // Most are not recorded, and need nobody who waits for their answer.
        let folder = told::folder_of(pid)?;
        let Some(told) = within(LONGEST_ANSWER, move || LiveStatus::by(pid, folder)) else {
            self.silent.insert(pid);
            return None;
        };
        let LiveStatus { folder, figures, is_own } = told?;
        let events = figures.events;
        Some(Recorded {
            folder: folder.display().to_string(),
            allocated: figures.allocated,
            reserved: figures.reserved,
            driver: figures.driver,
            events,
            places: if is_own { self.places(pid, &folder, events) } else { Vec::new() },
        })
    }

    fn places(&mut self, pid: u32, folder: &Path, events: u64) -> Vec<RecordedPlace> {
        if let Some((read, places)) = self.places.get(&pid)
            && read.elapsed() < BETWEEN_READINGS
        {
            return places.clone();
        }
        let many = self.places.len() >= MOST_READ && !self.places.contains_key(&pid);
        if !self.reads_places || many || events > MOST_EVENTS {
            return Vec::new();
        }
        let places = read_places(pid, folder);
        self.places.insert(pid, (Instant::now(), places.clone()));
        places
    }
}

/// What an answer is, where it comes in time. Who does not answer is left to wait alone.
fn within<T: Send + 'static>(
    longest: Duration,
    ask: impl FnOnce() -> T + Send + 'static,
) -> Option<T> {
    let (sender, receiver) = mpsc::channel();
    let asking = std::thread::Builder::new().name("whyoom-ask".to_owned());
    // Where nobody waits for it any more, nothing is lost.
    asking.spawn(move || drop(sender.send(ask()))).ok()?;
    receiver.recv_timeout(longest).ok()
}

/// Where a process's live memory was asked for, the most first.
fn read_places(pid: u32, folder: &Path) -> Vec<RecordedPlace> {
    let mut tables = Tables::default();
    let mut own = OwnEvents { name_ends: format!("PID {pid}"), model: Model::default() };
    if recording::import(folder, &mut Symbols::default(), &mut tables, &mut own).is_err() {
        return Vec::new();
    }
    let on_device = own.model.spaces().filter(|(_, device, _)| *device != DeviceId::HOST);
    let stacks = on_device.flat_map(|(_, _, space)| space.live_by_stack()).collect();
    let places = sums_by_call_site(&tables, stacks).into_iter();
    let places = places.filter(|(_, bytes)| *bytes > Bytes::ZERO).take(MOST_PLACES);
    places.map(|(place, bytes)| RecordedPlace { place, bytes: bytes.0 }).collect()
}

/// Passes the events of one process on to a model.
struct OwnEvents {
    name_ends: String,
    model: Model,
}

impl EventSink for OwnEvents {
    fn event(&mut self, event: &Event, tables: &Tables) {
        let name = tables.process_name(event.origin.process);
        if name.trim_end_matches(')').ends_with(&self.name_ends) {
            self.model.event(event, tables);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_does_not_answer_is_not_waited_for() {
        let slow = || std::thread::sleep(Duration::from_secs(60));
        let started = Instant::now();
        assert_eq!(within(Duration::from_millis(10), slow), None);
        assert!(started.elapsed() < Duration::from_secs(5));
        assert_eq!(within(Duration::from_secs(60), || 7), Some(7));
    }
}
