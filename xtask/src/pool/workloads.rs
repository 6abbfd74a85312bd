//! The workloads of the replay, live: each under PyTorch's own allocator, under expandable segments and
//! under the pool.

use std::{sync::Mutex, thread::ScopedJoinHandle};

use anyhow::{Context, Result, anyhow, ensure};
use whyoom_trace::Bytes;

use super::{POOL, replayed, source};
use crate::{
    recorder::{
        stage::{Stage, python},
        trial::{Trial, text},
    },
    recordings::{DEVICE, WORKLOADS},
    tools::number,
};

/// PyTorch has no `MemPool` under an allocator of the user's own.
const LEFT_OUT: &str = "memory_pool";

const DEVICE_TOTAL: u64 = 4 << 30;
/// Processes at a time.
const TOGETHER: usize = 2;

/// The median of peak in use ÷ peak reserved is at least this.
const UTILIZATION: f64 = 0.985;
/// What the pool took is no further from what its replay takes.
const FROM_REPLAY: f64 = 0.01;

/// One workload's peaks.
struct Row {
    name: &'static str,
    native: u64,
    expandable: u64,
    pool: Pooled,
}

/// Those of its run under the pool.
struct Pooled {
    in_use: u64,
    reserved: u64,
    replayed: u64,
}

/// Those that PyTorch can run.
fn workloads() -> impl DoubleEndedIterator<Item = &'static str> {
    WORKLOADS.iter().copied().filter(|name| *name != LEFT_OUT)
}

pub(super) fn run(stage: &Stage) -> Result<String> {
    println!(
        "{LEFT_OUT} is left out: PyTorch refuses its pools under an allocator of the user's own"
    );
    println!(
        "{:<16} {:>8} {:>8} {:>10} {:>8} {:>8} {:>7}",
        "peak, MiB", "in use", "native", "expandable", "pool", "replay", "share"
    );
    let rows = rows(stage)?;
    let wanted = workloads().count();
    ensure!(rows.len() == wanted, "{} did not run", wanted - rows.len());
    judge(&rows)
}

/// All workloads that run, some at a time; each is printed when it is known.
fn rows(stage: &Stage) -> Result<Vec<Row>> {
    let queue = Mutex::new(workloads().rev().collect::<Vec<_>>());
    let work = || {
        let mut rows = Vec::new();
        while let Some(name) = queue.lock().ok().and_then(|mut queue| queue.pop()) {
            match row(stage, name) {
                Ok(row) => {
                    row.print();
                    rows.push(row);
                }
                Err(error) => println!("{name:<16} FAILED: {error:#}"),
            }
        }
        rows
    };
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..TOGETHER).map(|_| scope.spawn(work)).collect();
        let rows = workers.into_iter().map(ScopedJoinHandle::join);
        let rows = rows.collect::<Result<Vec<_>, _>>().map_err(|_| anyhow!("a worker panicked"))?;
        Ok(rows.into_iter().flatten().collect())
    })
}

fn row(stage: &Stage, name: &'static str) -> Result<Row> {
    let command = vec![python()?, text(&source("live.py")), name.to_owned()];
    let lab = DEVICE.iter().map(|word| (*word).to_owned()).collect();
    let trial = Trial { lab, command, ..Trial::default() };
    let settings = |value: &str| trial.clone().with("PYTORCH_ALLOC_CONF", value);
    let native = peak(&settings("").plain(stage)?.figures()?["peak_reserved"]);
    let expandable = settings("expandable_segments:True").plain(stage)?;
    let expandable = peak(&expandable.figures()?["peak_reserved"]);
    let recorded = trial.recorded_with(stage, &format!("pool-{name}"), &[POOL])?;
    let figures = recorded.ran.figures().context("under the pool")?;
    let room = peak(&figures["capacity"]);
    let replayed = replayed::outcome(&recorded.folder, DEVICE_TOTAL, room)?.peak_reserved;
    let (in_use, reserved) = (peak(&figures["peak_allocated"]), peak(&figures["peak_reserved"]));
    Ok(Row { name, native, expandable, pool: Pooled { in_use, reserved, replayed } })
}

fn peak(value: &serde_json::Value) -> u64 {
    number(value) as u64
}

impl Row {
    fn share(&self) -> f64 {
        self.pool.in_use as f64 / self.pool.reserved.max(1) as f64
    }

    /// How far live and replay are apart.
    fn apart(&self) -> f64 {
        let (live, replayed) = (self.pool.reserved as f64, self.pool.replayed.max(1) as f64);
        (live - replayed).abs() / replayed
    }

    fn worse(&self) -> bool {
        self.pool.reserved > self.native.min(self.expandable)
    }

    fn print(&self) {
        let mib = |bytes: u64| bytes >> 20;
        let Pooled { in_use, reserved, replayed } = self.pool;
        let mut remarks = String::new();
        if self.worse() {
            remarks += "  worse than a rival";
        }
        if self.apart() > FROM_REPLAY {
            remarks += &format!("  {:.2} % from its replay", self.apart() * 100.0);
        }
        println!(
            "{:<16} {:>8} {:>8} {:>10} {:>8} {:>8} {:>7.4}{remarks}",
            self.name,
            mib(in_use),
            mib(self.native),
            mib(self.expandable),
            mib(reserved),
            mib(replayed),
            self.share()
        );
    }
}

fn judge(rows: &[Row]) -> Result<String> {
    let mut shares: Vec<f64> = rows.iter().map(Row::share).collect();
    shares.sort_by(f64::total_cmp);
    // Of an even number, halfway between the two in the middle.
    let middle = |index: usize| shares.get(index).copied().unwrap_or_default();
    let count = shares.len();
    let median = f64::midpoint(middle(count.saturating_sub(1) / 2), middle(count / 2));
    let worse = rows.iter().filter(|row| row.worse()).count();
    let apart = rows.iter().map(Row::apart).fold(0.0, f64::max);
    let total = |peak: fn(&Row) -> u64| Bytes(rows.iter().map(peak).sum());
    let said = format!(
        "median {median:.4} of what is reserved is in use at the peaks of {} workloads, above the \
         better of native and expandable on {worse}; at most {:.2} % from its replay; all together \
         {} against {} and {}",
        rows.len(),
        apart * 100.0,
        total(|row| row.pool.reserved),
        total(|row| row.native),
        total(|row| row.expandable)
    );
    ensure!(median >= UTILIZATION && worse == 0 && apart <= FROM_REPLAY, "{said}");
    Ok(said)
}
