//! Fifty million events from eight threads: none lost, order kept, and what one takes.

use std::{fs, path::Path, time::Instant};

use anyhow::{Result, ensure};
use rustix::time::{ClockId, clock_gettime};
use whyoom_recording::{Options, Part, Recording, Unresolved, now};
use whyoom_trace::{Event, Tables, ThreadId, Time};

use super::{
    Bench, bytes_of,
    made::{self, Checked},
};

const EVENTS: u64 = 50_000_000;
const THREADS: u32 = 8;
const EACH: u64 = EVENTS / THREADS as u64;
const MOST_BYTES: f64 = 40.0;
/// Events that one thread records for the cost of one.
const ALONE: u64 = 4_000_000;

pub(super) fn run(bench: &Bench) -> Result<String> {
    let alone = cost(bench)?;
    let folder = bench.fresh("scale")?;
    let seconds = write(&folder, THREADS, EACH)?;
    let bytes = bytes_of(&folder, ".events")?;
    let started = Instant::now();
    let mut checked = Checked::new(THREADS);
    let recording = Recording::open(&folder)?;
    let losses = recording.read(&mut Unresolved, &mut Tables::default(), &mut checked)?;
    ensure!(losses.words().is_empty(), "{losses}");
    let read = checked.finish(EACH)?;
    ensure!(recording.parts()[0].events == read, "the part counted otherwise");
    let reading = started.elapsed().as_secs_f64();
    fs::remove_dir_all(&folder)?;

    let each = bytes.0 as f64 / EVENTS as f64;
    println!("{:<34} {EVENTS:>10}", "events written by 8 threads");
    println!("{:<34} {read:>10}", "events read back, all as made");
    println!("{:<34} {:>10}", "recording", bytes.to_string());
    println!("{:<34} {each:>10.1}", "bytes an event");
    println!("{:<34} {:>8.1} M/s", "written", EVENTS as f64 / seconds / 1e6);
    println!("{:<34} {:>8.1} M/s", "read and compared", EVENTS as f64 / reading / 1e6);
    println!("{:<34} {alone:>8.0} ns", "processor time of an event");
    ensure!(each <= MOST_BYTES, "{each:.1} bytes an event, over {MOST_BYTES}");
    Ok(format!("{EVENTS} events, none lost, {each:.1} bytes and {alone:.0} ns an event"))
}

/// Writes a recording; the seconds it took.
pub(super) fn write(folder: &Path, threads: u32, each: u64) -> Result<f64> {
    let part = Part::create(folder, Options::default())?;
    made::define(&part)?;
    let started = Instant::now();
    let results: Vec<Result<()>> = std::thread::scope(|scope| {
        let record = |thread| {
            let part = &part;
            scope.spawn(move || record(part, thread, each))
        };
        let running: Vec<_> = (1..=threads).map(record).collect();
        let join = |thread: std::thread::ScopedJoinHandle<'_, _>| thread.join();
        running.into_iter().map(join).map(|done| done.unwrap_or(Ok(()))).collect()
    });
    results.into_iter().collect::<Result<()>>()?;
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
fn cost(bench: &Bench) -> Result<f64> {
    let events: Vec<Event> = (0..10_000).map(|number| made::event(1, number)).collect();
    let mut rounds = Vec::new();
    for _ in 0..5 {
        let folder = bench.fresh("cost")?;
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
    rounds.sort_by(f64::total_cmp);
    Ok(rounds[rounds.len() / 2])
}
