//! Many events from eight threads: none lost, order kept, and what one takes.

use std::{fs, path::Path, time::Instant};

use anyhow::{Result, anyhow, ensure};
use harness::{Held, empty_folder, median};
use rustix::time::{ClockId, clock_gettime};
use whyoom_recording::{Options, Part, Recording, Unresolved, now};
use whyoom_trace::{Event, Tables, ThreadId, Time};

use super::{
    THREADS, bytes_of,
    made::{self, Checked},
};

const MOST_BYTES: f64 = 40.0;
/// Events that one thread records for the cost of one.
const ALONE: u64 = 4_000_000;

pub(super) fn check(name: &str, events: u64) -> Result<Held> {
    let alone = cost(name)?;
    let (folder, each) = (empty_folder(name)?, events / u64::from(THREADS));
    let seconds = write(&folder, each)?;
    let bytes = bytes_of(&folder, ".events")?;
    let started = Instant::now();
    let mut checked = Checked::new(THREADS);
    let recording = Recording::open(&folder)?;
    let losses = recording.read(&mut Unresolved, &mut Tables::default(), &mut checked)?;
    ensure!(losses.words().is_empty(), "{losses}");
    let read = checked.finish(each)?;
    ensure!(read == events, "{read} events in place of {events}");
    ensure!(recording.parts()[0].events == read, "the part counted otherwise");
    let reading = started.elapsed().as_secs_f64();
    fs::remove_dir_all(&folder)?;

    let size = bytes.0 as f64 / events as f64;
    println!("{:<34} {:>10}", "recording", bytes.to_string());
    println!("{:<34} {:>8.1} M/s", "written", events as f64 / seconds / 1e6);
    println!("{:<34} {:>8.1} M/s", "read and compared", events as f64 / reading / 1e6);
    ensure!(size <= MOST_BYTES, "{size:.1} bytes per event, over {MOST_BYTES}");
    let said = format!("{events} events of {THREADS} threads, none lost, {size:.1} bytes");
    Ok(Held::new(format!("{said} and {alone:.0} ns an event")).count("events", events))
}

/// Writes a recording; the seconds it took.
pub(super) fn write(folder: &Path, each: u64) -> Result<f64> {
    let part = Part::create(folder, Options::default())?;
    made::define(&part)?;
    let started = Instant::now();
    std::thread::scope(|scope| {
        let record = |thread| {
            let part = &part;
            scope.spawn(move || record(part, thread, each))
        };
        let running: Vec<_> = (1..=THREADS).map(record).collect();
        running.into_iter().try_for_each(|thread| {
            thread.join().map_err(|_| anyhow!("a thread that writes panicked"))?
        })
    })?;
    drop(part);
    Ok(started.elapsed().as_secs_f64())
}

fn record(part: &Part, thread: u32, each: u64) -> Result<()> {
    let mut lease = part.lease(ThreadId(thread))?;
    for number in 0..each {
        lease.event(part, &Event { time: now(), ..made::event(thread, number) })?;
    }
    Ok(())
}

/// The processor time of this thread in nanoseconds: other programs do not count.
fn thread_time() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 * 1e9 + time.tv_nsec as f64
}

/// What one call takes, in nanoseconds of processor time, with the kernel's share for the files: the
/// median of several rounds.
fn cost(name: &str) -> Result<f64> {
    let events: Vec<Event> = (0..10_000).map(|number| made::event(1, number)).collect();
    let mut rounds = Vec::new();
    for _ in 0..5 {
        let folder = empty_folder(&format!("{name}-cost"))?;
        let part = Part::create(&folder, Options::default())?;
        let mut lease = part.lease(ThreadId(1))?;
        let started = thread_time();
        for round in 0..ALONE / events.len() as u64 {
            for (at, event) in (0..).zip(&events) {
                let time = Time((round * 10_000 + at) * 1000);
                lease.event(&part, &Event { time, ..*event })?;
            }
        }
        rounds.push((thread_time() - started) / ALONE as f64);
        fs::remove_dir_all(folder)?;
    }
    median(&rounds)
}
