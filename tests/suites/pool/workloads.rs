//! The workloads of the replay, live: each under PyTorch's own allocator, under expandable segments and
//! under the pool.

use std::fmt::Write;

use anyhow::{Context, Result, ensure};
use harness::{Held, Ran, Trial, python, root, text, two_at_a_time};
use serde::Deserialize;
use whyoom_trace::Bytes;

use super::{POOL, replayed};
use crate::replay::recordings::{DEVICE, WORKLOADS};

/// PyTorch has no `MemPool` under an allocator of the user's own.
const LEFT_OUT: &str = "memory_pool";
/// The one that is there to fail.
const FAILS: &str = "out_of_memory";

const DEVICE_TOTAL: u64 = 4 << 30;

/// The median of peak in use ÷ peak reserved is at least this.
const UTILIZATION: f64 = 0.985;
/// What the pool took is no further from what its replay takes.
const FROM_REPLAY: f64 = 0.01;

/// What live.py says.
#[derive(Debug, Deserialize)]
struct Live {
    workload: String,
    backend: String,
    peak_allocated: u64,
    peak_reserved: u64,
    failures: u64,
    capacity: u64,
}

/// One workload's peaks: reserved by each allocator, and in use under the pool.
struct Row {
    name: &'static str,
    native: u64,
    expandable: u64,
    in_use: u64,
    pool: u64,
    replayed: u64,
}

pub(super) fn run() -> Result<Held> {
    println!(
        "{:<16} {:>8} {:>8} {:>10} {:>8} {:>8} {:>7}",
        "peak, MiB", "in use", "native", "expandable", "pool", "replay", "share"
    );
    let names: Vec<_> = WORKLOADS.iter().copied().filter(|name| *name != LEFT_OUT).collect();
    let rows = two_at_a_time(&names, |name| row(name).with_context(|| (*name).to_owned()));
    judge(&rows.into_iter().collect::<Result<Vec<_>>>()?)
}

fn row(name: &'static str) -> Result<Row> {
    let live = text(&root().join("tests/scenarios/pool/live.py"));
    let trial = Trial::on(DEVICE, &[python()?, live, name.to_owned()]);
    let settings = |value: &str| trial.clone().with("PYTORCH_ALLOC_CONF", value);
    let native = said(&settings("").plain()?, name, "native")?.peak_reserved;
    let expandable = settings("expandable_segments:True").plain()?;
    let expandable = said(&expandable, name, "native")?.peak_reserved;
    let recorded = trial.recorded_with(&format!("pool-{name}"), &[POOL])?;
    let pooled = said(&recorded.ran, name, "pluggable").context("under the pool")?;
    let replayed = replayed::outcome(&recorded.folder, DEVICE_TOTAL, pooled.capacity)?;
    let replayed = replayed.peak_reserved;
    ensure!(replayed > 0, "its replay takes nothing");
    let (in_use, pool) = (pooled.peak_allocated, pooled.peak_reserved);
    let row = Row { name, native, expandable, in_use, pool, replayed };
    row.print();
    Ok(row)
}

/// What a run of this workload under this allocator said, where it makes sense.
fn said(ran: &Ran, name: &str, backend: &str) -> Result<Live> {
    let live: Live = ran.figures()?;
    ensure!(live.workload == name && live.backend == backend, "{live:?}");
    ensure!(live.failures == 0 || name == FAILS, "{live:?}");
    let (in_use, reserved) = (live.peak_allocated, live.peak_reserved);
    ensure!(in_use > 0 && reserved >= in_use && live.capacity >= reserved, "{live:?}");
    Ok(live)
}

impl Row {
    fn share(&self) -> f64 {
        self.in_use as f64 / self.pool as f64
    }

    /// How far live and replay are apart.
    fn apart(&self) -> f64 {
        self.pool.abs_diff(self.replayed) as f64 / self.replayed as f64
    }

    fn worse(&self) -> bool {
        self.pool > self.native.min(self.expandable)
    }

    fn print(&self) {
        let mut line = format!("{:<16}", self.name);
        let peaks = [self.in_use, self.native, self.expandable, self.pool, self.replayed];
        for (peak, width) in peaks.iter().zip([8, 8, 10, 8, 8]) {
            let _ = write!(line, " {:>width$}", peak >> 20);
        }
        let _ = write!(line, " {:>7.4}", self.share());
        if self.worse() {
            line += "  worse than a rival";
        }
        if self.apart() > FROM_REPLAY {
            let _ = write!(line, "  {:.2} % from its replay", self.apart() * 100.0);
        }
        println!("{line}");
    }
}

fn judge(rows: &[Row]) -> Result<Held> {
    let mut shares: Vec<f64> = rows.iter().map(Row::share).collect();
    shares.sort_by(f64::total_cmp);
    ensure!(!shares.is_empty(), "no workload ran");
    // Of an even number, halfway between the two in the middle.
    let count = shares.len();
    let median = f64::midpoint(shares[(count - 1) / 2], shares[count / 2]);
    let worse = rows.iter().filter(|row| row.worse()).count();
    let apart = rows.iter().map(Row::apart).max_by(f64::total_cmp).context("no workload ran")?;
    let total = |peak: fn(&Row) -> u64| Bytes(rows.iter().map(peak).sum());
    let said = format!(
        "median {median:.4} of what is reserved is in use at the peaks of {count} workloads, above the \
         better of native and expandable on {worse}; at most {:.2} % from its replay; all together \
         {} against {} and {}",
        apart * 100.0,
        total(|row| row.pool),
        total(|row| row.native),
        total(|row| row.expandable)
    );
    ensure!(median >= UTILIZATION && worse == 0 && apart <= FROM_REPLAY, "{said}");
    Ok(Held::new(said))
}
