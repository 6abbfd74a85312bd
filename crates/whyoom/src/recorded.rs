//! What the recorders of `whyoom run` inside running processes say of them now.

use std::{
    collections::BTreeMap,
    fs,
    os::unix::ffi::OsStringExt,
    path::{Path, PathBuf},
    sync::atomic::Ordering::Relaxed,
    time::{Duration, Instant},
};

use whyoom_memory::{Model, sums_by_place};
use whyoom_node::{NodeReport, Recorded, RecordedPlace};
use whyoom_recording::LiveView;
use whyoom_sources::recording;
use whyoom_symbols::Symbols;
use whyoom_trace::{Bytes, DeviceId, Event, EventSink, Tables};

use crate::run::FOLDER_VARIABLE;

/// A recording is read again no sooner: that takes time in proportion to it.
const BETWEEN_READINGS: Duration = Duration::from_secs(5);
/// Longer recordings are not read for a look.
const MOST_EVENTS: u64 = 2_000_000;
/// Of so many processes at most the recording is read.
const MOST_READ: usize = 4;
/// Places beyond these are left out.
const MOST_PLACES: usize = 8;

/// Asks recorders, and remembers what takes long to find out.
#[derive(Default)]
pub(crate) struct Recorders {
    reads_places: bool,
    places: BTreeMap<u32, (Instant, Vec<RecordedPlace>)>,
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
    }

    /// What a recorder inside a process says; nothing where there is none, or where the process is
    /// somebody else's.
    fn ask(&mut self, pid: u32) -> Option<Recorded> {
        let folder = folder_of(pid)?;
        let view = LiveView::open(&part_of(&folder, pid)?).ok()?;
        let totals = view.totals();
        let sum = |figure: fn(&whyoom_recording::LiveDevice) -> u64| -> u64 {
            totals.devices.iter().map(figure).fold(0, u64::saturating_add)
        };
        let events = totals.events.load(Relaxed);
        Some(Recorded {
            folder: folder.display().to_string(),
            allocated: sum(|device| device.allocated.load(Relaxed)),
            reserved: sum(|device| device.reserved.load(Relaxed)),
            driver: sum(|device| device.driver.load(Relaxed)),
            events,
            places: self.places(pid, &folder, events),
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

/// The folder that a process records into, by its environment.
fn folder_of(pid: u32) -> Option<PathBuf> {
    let environment = fs::read(format!("/proc/{pid}/environ")).ok()?;
    let prefix = format!("{FOLDER_VARIABLE}=");
    let mut variables = environment.split(|byte| *byte == 0);
    let folder = variables.find_map(|variable| variable.strip_prefix(prefix.as_bytes()))?;
    Some(std::ffi::OsString::from_vec(folder.to_vec()).into())
}

/// The file of a process in a recording: of several programs that it ran, the last.
fn part_of(folder: &Path, pid: u32) -> Option<PathBuf> {
    let (prefix, entries) = (format!("{pid}-"), fs::read_dir(folder).ok()?.flatten());
    let own = |entry: &fs::DirEntry| {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        name.starts_with(&prefix) && name.ends_with(".part")
    };
    let newest =
        entries.filter(own).max_by_key(|entry| entry.metadata().and_then(|it| it.modified()).ok());
    newest.map(|entry| entry.path())
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
    let places = sums_by_place(&tables, stacks).into_iter();
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
