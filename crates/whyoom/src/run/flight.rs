//! `--flight`: the run is followed while it is recorded, so that little disk tells all of it.

use std::{
    env, io,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use whyoom_flight::Flight;
use whyoom_memory::{Category, Space};
use whyoom_symbols::Symbols;
use whyoom_trace::{Bytes, DeviceId};

use super::{folder::RunFolder, say};
use crate::{arguments::RunArguments, reading::Reading};

/// Switches it on for every `whyoom run`.
const VARIABLE: &str = "WHYOOM_FLIGHT";
/// What each process keeps of its events where nobody says.
pub(super) const LIMIT: u64 = 64 << 20;
/// How long to wait for more, where little happens.
const GLANCE: Duration = Duration::from_millis(50);
/// So many events at one look mean that there are more already.
const MANY: u64 = 50_000;
/// Between two checkpoints, and at least so many times what the last one took.
const BETWEEN_CHECKPOINTS: Duration = Duration::from_secs(5);
const TIMES_LAST: u32 = 20;
/// Kinds of memory that one line has room for.
const KINDS: usize = 3;

/// Whether a run is a flight.
pub(super) fn is_asked_for(arguments: &RunArguments) -> bool {
    let variable = env::var_os(VARIABLE).unwrap_or_default();
    arguments.flight || !(variable.is_empty() || variable == "0")
}

/// Follows a run in a thread of its own.
pub(super) struct Following {
    ended: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Following {
    /// Starts. Where no thread can be had, the ring alone is kept.
    pub(super) fn start(folder: &Path) -> Self {
        let ended = Arc::new(AtomicBool::new(false));
        let (folder, end) = (folder.to_owned(), Arc::clone(&ended));
        let builder = thread::Builder::new().name("whyoom-flight".to_owned());
        let thread = builder.spawn(move || follow(&folder, &end));
        let told = |error: &io::Error| say(&format!("--flight: the run is not followed: {error}"));
        Self { ended, thread: thread.inspect_err(told).ok() }
    }

    /// Takes the rest, when the end was noted, and saves what there is.
    pub(super) fn finish(self) {
        self.ended.store(true, Relaxed);
        if let Some(thread) = self.thread {
            let _ = thread.join();
        }
    }
}

/// Follows a run to its end.
fn follow(folder: &Path, ended: &AtomicBool) {
    let (mut flight, mut symbols) = (Flight::new(folder), Symbols::default());
    let mut saved = Instant::now();
    let mut pause = BETWEEN_CHECKPOINTS;
    while !ended.load(Relaxed) {
        // A folder that is gone now does not come back, and says so when it is read.
        let Ok(events) = flight.advance(&mut symbols) else { return };
        if flight.has_dropped() && saved.elapsed() > pause {
            let started = Instant::now();
            // One that cannot be written now may be later; the end tries again.
            let _ = flight.save(folder);
            saved = Instant::now();
            pause = BETWEEN_CHECKPOINTS.max(started.elapsed() * TIMES_LAST);
        }
        if events < MANY {
            thread::sleep(GLANCE);
        }
    }
    let finished = flight.finish(&mut symbols);
    // As long as the ring has dropped nothing, the recording tells all by itself.
    if finished.is_ok()
        && flight.has_dropped()
        && let Err(error) = flight.into_checkpoint().save(folder)
    {
        say(&format!("--flight: the model of the whole run is not kept: {error}"));
    }
}

/// What the memory at the peak was, in a few words.
pub(super) fn peak_in_words(reading: &Reading) -> String {
    let on_device =
        reading.inquiry.model.spaces().filter(|(_, device, _)| *device != DeviceId::HOST);
    let space = on_device.map(|(_, _, space)| space).max_by_key(|space| space.peak().0.allocated);
    let Some(space) = space else { return String::new() };
    let kinds = kinds(space);
    if kinds.is_empty() { String::new() } else { format!(" ({})", kinds.join(", ")) }
}

fn kinds(space: &Space) -> Vec<String> {
    let mut kinds = space.peak_by_category();
    kinds.retain(|(kind, usage)| usage.bytes > Bytes::ZERO && *kind != Category::Unattributed);
    kinds.sort_by_key(|(_, usage)| std::cmp::Reverse(usage.bytes));
    kinds.iter().take(KINDS).map(|(kind, usage)| format!("{kind} {}", usage.bytes)).collect()
}

/// Removes a recording that tells nothing but that all went well.
pub(super) fn discard(folder: &RunFolder) {
    if let Err(error) = folder.discard() {
        say(&format!("--flight: {} could not be removed: {error}", folder.path.display()));
    }
}
