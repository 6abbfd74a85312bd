//! Every policy on every recorded run, with the lower bound.

use anyhow::{Context, Result, ensure};
use harness::Held;
use whyoom_allocators::{
    Settled, SimulatedDevice, Workload,
    catalogue::{CATALOGUE, Conditions, Entry},
    policies::pytorch::PyTorchSettings,
    replay_checked, replay_loop,
};

use super::recordings;

/// More than any recorded run takes: what is asked here is how much, not whether.
const ROOM: u64 = 1 << 40;
/// The bars that whyoom's own policy is held to.
const MEDIAN_UTILIZATION: f64 = 0.985;
const QUIET: f64 = 0.999;
/// Rounds of a loop; the first three may call the driver.
const ROUNDS: u32 = 6;
const OURS: &str = "stitch";
/// Our peak may not exceed the better of these.
const RIVALS: [&str; 2] = ["native", "expandable"];

pub(super) fn run() -> Result<Held> {
    let policies: Vec<&Entry> =
        CATALOGUE.iter().filter(|entry| entry.id != "as-recorded").collect();
    print!("{:<50} {:>7}", "peak, MiB", "live");
    policies.iter().for_each(|entry| print!(" {:>10}", entry.id));
    println!("  quiet");
    let mut rows = Vec::new();
    for (name, workload) in workloads()? {
        let row = Row::of(&workload, &policies).with_context(|| name.clone())?;
        row.print(&name)?;
        rows.push(row);
    }
    print!("{:<50} {:>7}", "median utilization", "");
    for entry in &policies {
        print!(" {:>10.4}", median(&rows, entry.id)?);
    }
    println!();
    judge(&rows)
}

/// The runs from real GPUs, and those from the lab. Of the lab's, one setting is enough: what the program
/// asks for does not depend on it.
fn workloads() -> Result<Vec<(String, Workload)>> {
    let mut workloads: Vec<_> = recordings::real()?.into_iter().collect();
    for made in recordings::all()?.iter().filter(|made| made.setting == "native") {
        workloads.push((made.name(), made.run()?.workload));
    }
    Ok(workloads)
}

struct Row {
    live: u64,
    /// Peak of each policy.
    peaks: Vec<(&'static str, u64)>,
    /// Allocations without a call of the driver once a loop has settled; not asked of a program that
    /// makes its allocator give memory back.
    settled: Option<Settled>,
}

impl Row {
    fn of(workload: &Workload, policies: &[&Entry]) -> Result<Self> {
        let conditions =
            Conditions { recorded: PyTorchSettings { device_total: ROOM, ..Default::default() } };
        let mut row = Self { live: 0, peaks: Vec::new(), settled: None };
        for entry in policies {
            let mut device = SimulatedDevice::new(ROOM);
            let mut policy = entry.make(&conditions);
            let outcome =
                replay_checked(workload, policy.as_mut(), &mut device).with_context(|| entry.id)?;
            row.live = outcome.peak_live;
            let peak = outcome.peak_reserved;
            ensure!(peak >= row.live && row.live > 0, "{}: {peak} for {}", entry.id, row.live);
            row.peaks.push((entry.id, peak));
            if entry.id == OURS && !workload.gives_back_itself() {
                let mut device = SimulatedDevice::new(ROOM);
                let mut policy = entry.make(&conditions);
                let settled = replay_loop(workload, policy.as_mut(), &mut device, ROUNDS)?;
                ensure!(settled.allocations > 0, "nothing is allocated in a settled loop");
                row.settled = Some(settled);
            }
        }
        Ok(row)
    }

    fn peak(&self, id: &str) -> Result<u64> {
        let found = self.peaks.iter().find(|(known, _)| *known == id);
        Ok(found.with_context(|| format!("no policy is called {id}"))?.1)
    }

    /// Whether ours takes more than the better of the rivals.
    fn is_worse(&self) -> Result<bool> {
        let [one, other] = RIVALS.map(|id| self.peak(id));
        Ok(self.peak(OURS)? > one?.min(other?))
    }

    fn print(&self, name: &str) -> Result<()> {
        print!("{name:<50} {:>7}", self.live >> 20);
        self.peaks.iter().for_each(|(_, peak)| print!(" {:>10}", peak >> 20));
        let worse = if self.is_worse()? { "  worse than a rival" } else { "" };
        let quiet = self.settled.map_or("-".to_owned(), |settled| percent(settled.quiet()));
        println!("  {quiet}{worse}");
        Ok(())
    }
}

fn judge(rows: &[Row]) -> Result<Held> {
    let ours = median(rows, OURS)?;
    let worse = rows.iter().map(Row::is_worse).collect::<Result<Vec<_>>>()?;
    let worse = worse.into_iter().filter(|worse| *worse).count();
    let settled: Vec<Settled> = rows.iter().filter_map(|row| row.settled).collect();
    let worst = settled.iter().map(Settled::quiet).min_by(f64::total_cmp);
    let worst = worst.context("no loop has settled")?;
    let quiet = Settled {
        allocations: settled.iter().map(|one| one.allocations).sum(),
        calling: settled.iter().map(|one| one.calling).sum(),
    };
    let quiet = quiet.quiet();
    let summary = format!(
        "{OURS}: median {ours:.4} of what it takes is live, above the better of {} on {worse} of {} \
         runs; {} of the allocations of settled loops without a driver call ({} in the worst)",
        RIVALS.join(" and "),
        rows.len(),
        percent(quiet),
        percent(worst)
    );
    ensure!(worse == 0 && ours >= MEDIAN_UTILIZATION && quiet >= QUIET, "{summary}");
    Ok(Held::new(summary))
}

fn percent(share: f64) -> String {
    format!("{:.3} %", share * 100.0)
}

/// The median of what is live, as a share of what a policy takes.
fn median(rows: &[Row], id: &str) -> Result<f64> {
    let share = |row: &Row| Ok(row.live as f64 / row.peak(id)? as f64);
    let mut shares = rows.iter().map(share).collect::<Result<Vec<f64>>>()?;
    shares.sort_by(f64::total_cmp);
    shares.get(shares.len() / 2).copied().context("nothing was replayed")
}
