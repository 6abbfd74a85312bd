//! `cargo xtask utilization`: every policy on every recorded run, with the lower bound.

use anyhow::{Context, Result, ensure};
use whyoom_allocators::{
    SimulatedDevice,
    catalogue::{CATALOGUE, Conditions, Entry},
    policies::pytorch::PyTorchSettings,
    replay::{Settled, replay_checked, replay_loop},
    workload::Workload,
};

use crate::{
    exactness::{device_runs, pickles},
    recordings,
    tools::{shared_data, skipped},
};

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

pub(crate) fn run(_: &[String]) -> Result<()> {
    let policies: Vec<&Entry> =
        CATALOGUE.iter().filter(|entry| entry.id != "as-recorded").collect();
    print!("{:<50} {:>7}", "peak, MiB", "live");
    policies.iter().for_each(|entry| print!(" {:>10}", entry.id));
    println!("  quiet");
    let mut rows = Vec::new();
    for (name, workload) in workloads()? {
        let row = Row::of(&workload, &policies).with_context(|| name.clone())?;
        row.print(&name);
        rows.push(row);
    }
    print!("{:<50} {:>7}", "median utilization", "");
    for entry in &policies {
        print!(" {:>10.4}", median(rows.iter().map(|row| row.utilization(entry.id))));
    }
    println!();
    judge(&rows)
}

/// The runs from real GPUs, where they are at hand, and those from the lab. Of the lab's, one setting
/// is enough: what the program asks for does not depend on it.
fn workloads() -> Result<Vec<(String, Workload)>> {
    let mut files = Vec::new();
    match shared_data() {
        Some(data) => files.extend(pickles(&data.join("torch-snapshots"))?),
        None => skipped("recordings from real GPUs"),
    }
    let made = recordings::all()?.into_iter().filter(|made| made.name.ends_with("-native"));
    files.extend(made.map(|made| made.snapshot));
    let mut workloads = Vec::new();
    for path in files {
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let runs = device_runs(&path)?.into_iter();
        workloads.extend(runs.map(|run| (name.clone(), run.workload)));
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
            row.peaks.push((entry.id, outcome.peak_reserved));
            if entry.id == OURS && !workload.gives_back_itself() {
                let mut device = SimulatedDevice::new(ROOM);
                let mut policy = entry.make(&conditions);
                row.settled = Some(replay_loop(workload, policy.as_mut(), &mut device, ROUNDS)?);
            }
        }
        Ok(row)
    }

    fn peak(&self, id: &str) -> u64 {
        self.peaks.iter().find(|(known, _)| *known == id).map_or(0, |(_, peak)| *peak)
    }

    fn utilization(&self, id: &str) -> f64 {
        self.live as f64 / self.peak(id).max(1) as f64
    }

    /// The better of the rivals.
    fn rival(&self) -> u64 {
        RIVALS.iter().map(|id| self.peak(id)).min().unwrap_or_default()
    }

    fn print(&self, name: &str) {
        print!("{name:<50} {:>7}", self.live >> 20);
        self.peaks.iter().for_each(|(_, peak)| print!(" {:>10}", peak >> 20));
        let worse = if self.peak(OURS) > self.rival() { "  worse than a rival" } else { "" };
        let quiet = self.settled.map_or("-".to_owned(), |settled| percent(settled.quiet()));
        println!("  {quiet}{worse}");
    }
}

fn judge(rows: &[Row]) -> Result<()> {
    let ours = median(rows.iter().map(|row| row.utilization(OURS)));
    let worse = rows.iter().filter(|row| row.peak(OURS) > row.rival()).count();
    let settled = rows.iter().filter_map(|row| row.settled);
    let worst = settled.clone().map(|settled| settled.quiet()).fold(1.0, f64::min);
    let all = settled.fold(Settled::default(), |sum, one| Settled {
        allocations: sum.allocations + one.allocations,
        calling: sum.calling + one.calling,
    });
    let summary = format!(
        "{OURS}: median {ours:.4} of what it takes is live, above the better of {} on {worse} of {} \
         runs; {} of the allocations of settled loops without a driver call ({} in the worst)",
        RIVALS.join(" and "),
        rows.len(),
        percent(all.quiet()),
        percent(worst)
    );
    let quiet = all.quiet();
    ensure!(worse == 0 && ours >= MEDIAN_UTILIZATION && quiet >= QUIET, "{summary}");
    println!("utilization: {summary}");
    Ok(())
}

fn percent(share: f64) -> String {
    format!("{:.3} %", share * 100.0)
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or_default()
}
