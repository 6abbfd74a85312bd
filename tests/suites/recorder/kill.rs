//! A program that allocates in several threads is killed at random instants: the recording opens, and
//! lacks nothing that had returned to the program.

use std::{
    collections::BTreeMap,
    fs,
    path::Path,
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, ensure};
use harness::{Build, Check, Held, Random, fresh, text};
use rustix::process::{Pid, Signal, kill_process};
use whyoom_trace::{Action, Event};

use super::{calls, programs_in_c::program};

const THREADS: usize = 4;
/// The longest that the program lives after its first allocation.
const LONGEST: Duration = Duration::from_millis(60);
const PATIENCE: Duration = Duration::from_secs(20);
/// Where the program's own number stands in its file.
const NUMBER: usize = 64;
const KILLED: i32 = 137;

pub(super) fn checks() -> Vec<Check> {
    let sizes = [("kill", 12), ("deep-kill", 50)];
    sizes.into_iter().map(|(name, times)| Check::new(name, move || kills(name, times))).collect()
}

fn kills(name: &str, times: u64) -> Result<Held> {
    let (mut events, mut random) = (0, Random::default());
    for time in 0..times {
        let life = LONGEST.mul_f64(random.share());
        events += killed(name, life).with_context(|| format!("kill {time}, after {life:?}"))?;
    }
    let words = format!("{times} kills, {events} calls: every recording opens and lacks none");
    Ok(Held::new(format!("{words} that had returned")).count("kills", times))
}

fn killed(name: &str, life: Duration) -> Result<u64> {
    let folder = fresh(&format!("recorder/{name}"))?;
    let counters = folder.with_extension("counters");
    let _ = fs::remove_file(&counters);
    let mut child = start(&folder, &counters)?;
    let pid = first_allocation(&counters);
    thread::sleep(life);
    let sent = pid.and_then(|pid| Ok(kill_process(pid, Signal::KILL)?));
    let status = child.wait()?;
    sent?;
    ensure!(status.code() == Some(KILLED), "whyoom run ended with {status}");
    let (read, _) = calls::salvage(&folder)?;
    let recorded = by_thread(read.events.iter().map(|(_, event)| event));
    let returned = numbers(&counters)?;
    for thread in 0..THREADS {
        let own = recorded.get(&thread).copied().unwrap_or_default();
        let had = *returned.get(thread).context("the program counted nothing")?;
        ensure!(
            own == had || own == had + 1,
            "thread {thread}: {own} calls recorded, {had} had returned"
        );
    }
    Ok(recorded.values().sum())
}

fn start(folder: &Path, counters: &Path) -> Result<Child> {
    let whyoom = Build::ready()?.whyoom();
    let mut command = Command::new("timeout");
    command.arg("60").arg(&whyoom).args(["lab", "run", "--"]);
    command.arg(&whyoom).args(["run", "-o"]).arg(folder).arg("--");
    command.arg(program("churn")?).arg(THREADS.to_string()).arg(counters);
    let silent = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    silent.spawn().with_context(|| text(&whyoom))
}

/// Waits until the program has allocated; its number.
fn first_allocation(counters: &Path) -> Result<Pid> {
    let until = Instant::now() + PATIENCE;
    while Instant::now() < until {
        // The file is not there, or empty, until the program has begun.
        let numbers = numbers(counters).unwrap_or_default();
        if numbers.iter().take(THREADS).any(|count| *count > 0) {
            let number = *numbers.get(NUMBER).context("no number of a process")?;
            return Pid::from_raw(i32::try_from(number)?).context("process 0");
        }
        thread::sleep(Duration::from_millis(1));
    }
    anyhow::bail!("the program does not start")
}

/// What the program has counted.
fn numbers(counters: &Path) -> Result<Vec<u64>> {
    let bytes = fs::read(counters)?;
    Ok(bytes.as_chunks().0.iter().map(|count| u64::from_ne_bytes(*count)).collect())
}

/// How many calls of each of the program's threads there are. A thread is told by its block's size.
fn by_thread<'a>(events: impl Iterator<Item = &'a Event>) -> BTreeMap<usize, u64> {
    let (mut indices, mut counts) = (BTreeMap::new(), BTreeMap::new());
    for event in events {
        let index = match event.action {
            Action::Alloc { size, .. } => {
                *indices.entry(event.origin.thread).or_insert((size.0 >> 20) as usize - 1)
            }
            Action::Free { .. } => match indices.get(&event.origin.thread) {
                Some(index) => *index,
                None => continue,
            },
            _ => continue,
        };
        *counts.entry(index).or_default() += 1;
    }
    counts
}
