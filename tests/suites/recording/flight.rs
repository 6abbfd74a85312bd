//! A long run through a small ring: whoever follows it knows growth and peak as exactly as the whole recording does.
//!
//! The threads that write wait where they are far ahead of whoever follows: so the check tells the fastest rate at
//! which nothing is missed. The product makes no program wait.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    sync::atomic::{
        AtomicBool, AtomicU64,
        Ordering::{Acquire, Relaxed, Release},
    },
    thread,
    time::{Duration, Instant},
};

use anyhow::{Result, anyhow, ensure};
use harness::{Build, Held, empty_folder, must_succeed, peak_resident};
use whyoom_causes::{Finding, judge};
use whyoom_flight::{CHECKPOINT, Checkpoint, Flight};
use whyoom_memory::Model;
use whyoom_recording::{Definition, Lease, Options, Part, RawFrame, now};
use whyoom_sources::recording::{Unresolved, import};
use whyoom_trace::{
    Action, Address, Bytes, DeviceId, Event, EventSink, FrameId, MarkKind, Origin, ProcessId,
    StackId, StringId, Tables, ThreadId,
};

use super::{bytes_of, made::mix};

const THREADS: u32 = 4;
/// The ring of the gate's size, and the default of `whyoom run --flight`.
const SMALL: u64 = 4 << 20;
const LARGE: u64 = 64 << 20;
/// Of an iteration of a thread.
const EVENTS: u64 = 64;
const SLOTS: u64 = 31;
/// What a thread leaves behind over a run.
const LEAKS: u64 = 4096;
const LEAK: u64 = 256 << 10;
const LEAKED: u32 = 40;
const PEAK: u32 = 41;
const STACKS: u32 = 41;
/// A ring holds at least so many events: at most 16 bytes each.
const EVENT: u64 = 16;
/// What a real training loop makes is 11,600 events a second: this is ten times that.
const SLOWEST: f64 = 116_000.0;
/// What following may take: the model of the live set, and a block of each thread.
const BAR: Bytes = Bytes(512 << 20);

/// A run as it is made: so many events of each thread.
#[derive(Clone, Copy)]
struct Run {
    threads: u32,
    each: u64,
    limit: u64,
}

/// How far both sides are.
#[derive(Default)]
struct Progress {
    written: AtomicU64,
    followed: AtomicU64,
    ended: AtomicBool,
    /// The longest that a thread took from an event's time to its record, in nanoseconds.
    longest: AtomicU64,
}

/// What following a run took.
struct Followed {
    flight: Flight,
    /// Inside of [`Flight::advance`].
    busy: Duration,
    most_bytes: u64,
    longest: Duration,
}

/// The gate's size: the same events, with the same times, also in a recording without a limit.
pub(super) fn check(name: &str, events: u64) -> Result<Held> {
    let (ring, whole) = (folder_in_memory(&format!("{name}-ring"))?, folder_in_memory(name)?);
    let run = Run { threads: THREADS, each: events / u64::from(THREADS), limit: SMALL };
    let followed = fly(run, &ring, Some(&whole), None)?;
    let mut tables = Tables::default();
    let mut model = Model::default();
    model.begin_launch(tables.next_process());
    import(&whole, &mut Unresolved, &mut tables, &mut model)?;
    let expected = figures(&model, &tables);
    fs::remove_dir_all(whole)?;
    let held = compare(run, followed, &ring, &expected);
    fs::remove_dir_all(ring)?;
    held
}

/// More events than a disk holds: the model of one thread's events as they are made is what is expected.
pub(super) fn deep(name: &str, events: u64) -> Result<Held> {
    let ring = folder_in_memory(name)?;
    let run = Run { threads: 1, each: events, limit: LARGE };
    let mut reference = (Model::default(), Tables::default());
    let followed = fly(run, &ring, None, Some(&mut reference))?;
    let expected = figures(&reference.0, &reference.1);
    let held = compare(run, followed, &ring, &expected);
    fs::remove_dir_all(ring)?;
    held
}

/// The folder in one file gives the same verdict of the whole run.
fn packed_is_the_same(ring: &Path) -> Result<()> {
    let packed = ring.with_extension("tar.gz");
    must_succeed(Command::new("tar").arg("czf").arg(&packed).arg("-C").arg(ring).arg("."))?;
    let why = |input: &Path| {
        let mut command = Command::new(Build::ready()?.whyoom());
        let output = command.args(["why", "--json", "--no-symbols"]).arg(input).output()?;
        ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let answer = String::from_utf8(output.stdout)?;
        Ok(answer.replace(&input.display().to_string(), "INPUT"))
    };
    let (of_folder, of_packed) = (why(ring)?, why(&packed)?);
    fs::remove_file(packed)?;
    ensure!(!of_folder.contains("last events alone"), "without the model: {of_folder}");
    ensure!(of_folder == of_packed, "of the folder:\n{of_folder}\npacked:\n{of_packed}");
    Ok(())
}

/// Whether a run that was followed is told as it was, within bounds.
fn compare(run: Run, followed: Followed, ring: &Path, expected: &str) -> Result<Held> {
    let Followed { flight, busy, most_bytes, longest } = followed;
    let events = run.each * u64::from(run.threads);
    let about = flight.about(true);
    ensure!(expected.contains("growth Some"), "nothing grows: this checks nothing\n{expected}");
    ensure!(flight.has_dropped(), "the ring dropped nothing: this checks nothing");
    let notes = about.notes.join(" ");
    ensure!(notes.is_empty(), "{notes} (a thread took up to {longest:?} to write an event)");
    ensure!(about.events == events, "{} events in place of {events}", about.events);
    let live = figures(flight.model(), flight.tables());
    ensure!(live == expected, "followed:\n{live}\nexpected:\n{expected}");
    flight.into_checkpoint().save(ring)?;
    let saved = Checkpoint::read(ring)?;
    let read = figures(&saved.model, &saved.tables);
    ensure!(read == expected, "saved:\n{read}\nexpected:\n{expected}");
    packed_is_the_same(ring)?;

    let resident = peak_resident()?;
    let checkpoint = bytes_of(ring, CHECKPOINT)?;
    let rate = events as f64 / busy.as_secs_f64();
    println!("{:<34} {:>10}", "checkpoint", checkpoint.to_string());
    println!("{:<34} {:>8.2} M/s", "keeps up with", rate / 1e6);
    let most = Bytes(most_bytes);
    // Each thread keeps the segment that it writes to, and the definitions stay.
    let bound = Bytes(run.limit + run.limit / 8 + (1 << 20));
    ensure!(most <= bound, "{most} of files, over {bound}");
    ensure!(resident <= BAR, "{resident} resident, over {BAR}");
    ensure!(rate >= SLOWEST, "{rate:.0} events a second, below {SLOWEST}");
    let said = format!("{events} events through {most} of files, in {resident}");
    let said = format!("{said}: growth, peak and live set are exact; keeps up with");
    Ok(Held::new(format!("{said} {:.2} million events a second", rate / 1e6))
        .count("events", events))
}

/// A disk that is busy stops a thread for half a second and more. Its events then come late, which the product says;
/// here the subject is what it says of those that come in time.
fn folder_in_memory(name: &str) -> Result<PathBuf> {
    let memory = Path::new("/dev/shm");
    let own = format!("whyoom-{}-{}", name.replace('/', "-"), std::process::id());
    let folder = if memory.is_dir() { memory.join(own) } else { empty_folder(name)? };
    fs::create_dir_all(&folder)?;
    Ok(folder)
}

/// Writes a run into a ring, and follows it.
fn fly(
    run: Run,
    ring: &Path,
    whole: Option<&Path>,
    reference: Option<&mut (Model, Tables)>,
) -> Result<Followed> {
    let progress = Progress::default();
    thread::scope(|scope| {
        let following = scope.spawn(|| follow(ring, &progress));
        let written = write(run, (ring, whole), &progress, reference);
        progress.ended.store(true, Release);
        let followed = following.join().map_err(|_| anyhow!("whoever follows panicked"))?;
        written.and(followed)
    })
}

fn follow(ring: &Path, progress: &Progress) -> Result<Followed> {
    let (mut flight, mut busy, mut most_bytes) = (Flight::new(ring), Duration::ZERO, 0);
    loop {
        let ended = progress.ended.load(Acquire);
        let started = Instant::now();
        let events = if ended {
            flight.finish(&mut Unresolved)?;
            0
        } else {
            flight.advance(&mut Unresolved)?
        };
        busy += started.elapsed();
        progress.followed.fetch_add(events, Relaxed);
        most_bytes = most_bytes.max(bytes_of(ring, "").map_or(0, |bytes| bytes.0));
        if ended {
            let longest = Duration::from_nanos(progress.longest.load(Relaxed));
            return Ok(Followed { flight, busy, most_bytes, longest });
        }
        if events < 10_000 {
            thread::sleep(Duration::from_millis(5));
        }
    }
}

fn write(
    run: Run,
    (ring, whole): (&Path, Option<&Path>),
    progress: &Progress,
    reference: Option<&mut (Model, Tables)>,
) -> Result<()> {
    let part = Part::create(ring, Options { limit: Some(run.limit), ..Options::default() })?;
    define(&part)?;
    let whole = whole.map(|whole| Part::create(whole, Options::default())).transpose()?;
    whole.as_ref().map_or(Ok(()), define)?;
    let whole = whole.as_ref();
    if let Some(reference) = reference {
        let (model, tables) = reference;
        // What is defined is all that there is so far: both name stacks by the same ids.
        import(ring, &mut Unresolved, tables, &mut Model::default())?;
        model.begin_launch(ProcessId(0));
        return record(&part, whole, 1, run, progress, &mut |event| model.event(event, tables));
    }
    thread::scope(|scope| {
        let record = |thread| {
            let part = &part;
            scope.spawn(move || record(part, whole, thread, run, progress, &mut |_| {}))
        };
        let running: Vec<_> = (1..=run.threads).map(record).collect();
        running.into_iter().try_for_each(|thread| {
            thread.join().map_err(|_| anyhow!("a thread that writes panicked"))?
        })
    })
}

fn record(
    part: &Part,
    whole: Option<&Part>,
    thread: u32,
    run: Run,
    progress: &Progress,
    reference: &mut dyn FnMut(&Event),
) -> Result<()> {
    let mut lease = part.lease(ThreadId(thread))?;
    let mut other: Option<(Lease, &Part)> = whole
        .map(|whole| Ok::<_, anyhow::Error>((whole.lease(ThreadId(thread))?, whole)))
        .transpose()?;
    let most_ahead = run.limit / EVENT / 2;
    for number in 0..run.each {
        let event = Event { time: now(), ..event(thread, number, run.each) };
        lease.event(part, &event)?;
        if let Some((lease, whole)) = &mut other {
            lease.event(whole, &event)?;
        }
        reference(&event);
        progress.longest.fetch_max(now().0.saturating_sub(event.time.0), Relaxed);
        if number % 512 == 511 {
            progress.written.fetch_add(512, Relaxed);
            while progress.written.load(Relaxed)
                > progress.followed.load(Relaxed).saturating_add(most_ahead)
            {
                thread::sleep(Duration::from_millis(1));
            }
        }
    }
    Ok(())
}

/// An event of a training run that leaks, and that has its peak long before its end.
fn event(thread: u32, number: u64, each: u64) -> Event {
    let (iteration, at) = (number / EVENTS, number % EVENTS);
    let iterations = each / EVENTS;
    let (peak, leak_every) = (iterations * 2 / 3, (iterations / LEAKS).max(1));
    let base = u64::from(thread) << 48;
    let slot = |slot: u64| Address(base + (slot + 1) * (1 << 30));
    let taken = |address, size: u64, stack| {
        let (requested, size) = (Bytes(size - 7), Bytes(size));
        (Action::BlockAlloc { address, requested, size }, stack)
    };
    let nothing = (Action::Mark { kind: MarkKind::Phase, name: StringId(1) }, 0);
    let huge = Address(base + (1 << 45));
    let (action, stack) = match at {
        0 if thread == 1 => (Action::Mark { kind: MarkKind::Iteration, name: StringId(1) }, 0),
        1..=SLOTS => {
            let size = (1 + mix(at ^ (iteration / 100)) % 4096) * 512;
            taken(slot(at - 1), size, at as u32)
        }
        32..=62 => (Action::BlockFree { address: slot(at - 32) }, 0),
        63 if iteration == peak => taken(huge, 1 << 34, PEAK),
        63 if iteration == peak + 1 => (Action::BlockFree { address: huge }, 0),
        63 if iteration.is_multiple_of(leak_every) => {
            taken(Address(base + (1 << 46) + iteration * LEAK), LEAK, LEAKED)
        }
        _ => nothing,
    };
    // What grows is never given back: the peak that passes is another device's.
    let is_peak = at == 63 && (peak..=peak + 1).contains(&iteration);
    let device = DeviceId(if is_peak { 2 } else { thread as u16 % 2 });
    let origin = Origin { thread: ThreadId(thread), device, ..Origin::default() };
    Event { origin, stack: StackId(stack), action, ..Event::default() }
}

fn define(part: &Part) -> Result<()> {
    part.define(Definition::String { id: StringId(1), text: b"step" })?;
    for id in 1..=STACKS {
        let file = StringId(1 + id);
        let text = format!("/home/me/models/layer_{id}.py");
        part.define(Definition::String { id: file, text: text.as_bytes() })?;
        let (frame, function) = (FrameId(id), StringId(1));
        part.define(Definition::Frame { id: frame, function, file, line: id })?;
        part.define(Definition::Stack { id: StackId(id), frames: &[RawFrame::Named(frame)] })?;
    }
    Ok(())
}

/// What a model tells of a run, without its times: two recordings have clocks of their own.
fn figures(model: &Model, tables: &Tables) -> String {
    let names = |sums: Vec<(StackId, _)>| {
        let name = |stack| tables.frames(stack).map(|frame| frame.file).collect::<String>();
        let mut named: Vec<_> =
            sums.into_iter().map(|(stack, usage)| format!("{} {usage:?}", name(stack))).collect();
        named.sort();
        named
    };
    let mut told = String::new();
    let processes: Vec<ProcessId> = model.spaces().map(|(process, _, _)| process).collect();
    for (process, device, space) in model.spaces() {
        let growth = model.growth(process, device).map(|growth| {
            // Of equally large blocks any are named.
            let blocks: Bytes = growth.blocks.iter().map(|(_, size)| *size).sum();
            let stacks = growth.stacks.iter().map(|one| (one.stack, one.usage)).collect();
            let slope = (growth.per_iteration, growth.interval, growth.iterations);
            (slope, growth.total, growth.blocks.len(), blocks, names(stacks))
        });
        told += &format!(
            "{device} of {} processes\npeak {:?} {:?} {:#?}\nlive {:?} {:#?}\niterations {} {:?}\ngrowth {growth:?}\n",
            processes.len(),
            space.peak().0,
            space.peak_by_category(),
            names(space.peak_by_stack()),
            space.totals(),
            names(space.live_by_stack()),
            space.iterations(),
            space.block_counts(),
        );
    }
    let verdict = judge(model, tables);
    let Finding { cause, headline, because, reclaimable, call_sites, .. } = verdict.primary;
    told + &format!("{cause} {headline} {because} {reclaimable:?} {call_sites:#?}")
}
