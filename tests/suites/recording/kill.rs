//! A writer that is killed at random instants: each recording opens, and of each thread at most the
//! event that it was recording is missing.

use std::{
    fs,
    io::Read,
    path::Path,
    process::{Command, Stdio},
    time::Duration,
};

use anyhow::{Context, Result, bail, ensure};
use harness::{Held, empty_folder};
use whyoom_recording::{OpenError, Recording, Unresolved};
use whyoom_trace::{Event, EventSink, Tables};

use super::{
    made,
    writer::{DEFINED_EVERY, THREADS, diary},
};

const LATEST: Duration = Duration::from_millis(5);

/// What the recordings of all the killed writers held.
#[derive(Default)]
struct Seen {
    events: u64,
    /// Events that were begun and are not there.
    missing: u64,
    /// The most of one thread.
    most: u64,
    /// Recordings without a file.
    empty: u64,
}

pub(super) fn check(name: &str, kills: u64) -> Result<Held> {
    let mut seen = Seen::default();
    for round in 0..kills {
        let folder = empty_folder(name)?;
        let delay = LATEST.mul_f64((made::mix(round) >> 11) as f64 / (1u64 << 53) as f64);
        kill_after(&folder, delay)?;
        look(&folder, &mut seen)
            .with_context(|| format!("killed after {delay:?}, left in {}", folder.display()))?;
        fs::remove_dir_all(&folder)?;
    }
    let Seen { events, missing, most, empty } = seen;
    ensure!(events > 0, "all were killed before they had recorded anything");
    println!("{:<34} {empty:>10}", "killed before they had a file");
    println!("{:<34} {missing:>10}", "events begun and missing");
    println!("{:<34} {most:>10}", "most of one thread");
    let said = format!("{kills} writers of {THREADS} threads killed, {events} events, none lost");
    Ok(Held::new(format!("{said} but those being written")).count("kills", kills))
}

fn kill_after(folder: &Path, delay: Duration) -> Result<()> {
    let mut writer = Command::new(std::env::current_exe()?)
        .args(["recording", "as-writer"])
        .arg(folder)
        .stdout(Stdio::piped())
        .spawn()?;
    let ready = writer.stdout.take().context("no pipe")?.read(&mut [0]);
    std::thread::sleep(delay);
    let ended = writer.try_wait()?;
    writer.kill()?;
    writer.wait()?;
    ensure!(ready? == 1 && ended.is_none(), "the writer ended by itself");
    Ok(())
}

fn look(folder: &Path, seen: &mut Seen) -> Result<()> {
    let mut found = Found::default();
    match Recording::open(folder) {
        Ok(recording) => {
            let mut tables = Tables::default();
            let losses = recording.read(&mut Unresolved, &mut tables, &mut found)?;
            ensure!(losses.is_whole(), "{losses}");
        }
        // Killed before it had made its first file.
        Err(OpenError::Empty(_)) => seen.empty += 1,
        Err(error) => bail!(error),
    }
    if let Some(wrong) = found.wrong {
        bail!("{wrong}");
    }
    for thread in 1..=THREADS {
        let diary = fs::read(diary(folder, thread))?;
        let begun = diary.first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes) + 1);
        let read = found.next[thread as usize - 1];
        ensure!(
            read == begun || read + 1 == begun,
            "thread {thread} began {begun} events, and {read} are there"
        );
        seen.events += read;
        seen.missing += begun - read;
        seen.most = seen.most.max(begun - read);
    }
    Ok(())
}

/// The events of each thread, which must have no gap.
#[derive(Default)]
struct Found {
    next: [u64; THREADS as usize],
    wrong: Option<String>,
}

impl EventSink for Found {
    fn event(&mut self, event: &Event, tables: &Tables) {
        let thread = event.origin.thread.0;
        let number = self.next[thread as usize - 1];
        self.next[thread as usize - 1] += 1;
        let named = tables.frames(event.stack).next().map_or("", |frame| frame.function);
        let expected = match number % DEFINED_EVERY {
            0 => format!("event {number} of thread {thread}"),
            _ => String::new(),
        };
        if event.action != made::event(thread, number).action || named != expected {
            self.wrong.get_or_insert(format!("event {number} of thread {thread} is {event:?}"));
        }
    }
}
