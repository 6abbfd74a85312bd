//! What a training loop makes the pool ask of the driver: in the transition, and in the steady state.

use anyhow::{Result, ensure};
use harness::{Held, fresh, text};
use serde::Deserialize;

use super::{POOL, script};

const NAME: &str = "pool-steady";

/// What steady.py says.
#[derive(Debug, Deserialize)]
struct Figures {
    steps: u64,
    allocations: u64,
    /// By the pool's own count, and by the lab's log.
    steady_calls: u64,
    steady_calls_logged: u64,
    transition_steps: u64,
    transition_allocations: u64,
    transition_calls: u64,
    transition_calls_logged: u64,
    transition: Transition,
}

/// The pool's calls of the driver before the steady state.
#[derive(Debug, Deserialize)]
struct Transition {
    creates: u64,
    releases: u64,
    maps: u64,
    unmaps: u64,
    access: u64,
    reserves: u64,
    events: u64,
    waits: u64,
}

pub(super) fn run() -> Result<Held> {
    // The lab's log lies where every recorded trial has it.
    let log = fresh(NAME)?.with_added_extension("log");
    let mut trial = script("8GiB", "pool/steady.py")?;
    trial.command.push(text(&log));
    let figures: Figures = trial.recorded_with(NAME, &[POOL])?.ran.figures()?;
    let Figures { steps, allocations, steady_calls, steady_calls_logged, .. } = figures;
    let Figures { transition_steps, transition_allocations, transition_calls, .. } = figures;
    ensure!(allocations > 1000, "only {allocations} allocations: the pool did not serve them");
    // An empty log would show no call either.
    let (logged, least) = (figures.transition_calls_logged, figures.transition.logged());
    ensure!(least > 0 && transition_calls >= least, "{figures:?}");
    ensure!(logged >= least, "only {logged} of {least} calls before are in the lab's log");
    ensure!(
        steady_calls == 0 && steady_calls_logged == 0,
        "{steady_calls} driver calls by the pool's count and {steady_calls_logged} by the lab's log in \
         {steps} steady steps"
    );
    Ok(Held::new(format!(
        "no driver call in {steps} steady steps ({allocations} allocations); {transition_calls} calls in \
         {transition_steps} steps before ({transition_allocations} allocations), which would take {:.1} ms \
         on a real device",
        figures.transition.modelled()
    )))
}

impl Transition {
    /// Those that the lab logs.
    fn logged(&self) -> u64 {
        self.creates + self.releases + self.maps + self.unmaps + self.reserves
    }

    /// Prints the calls; the milliseconds that they would take.
    fn modelled(&self) -> f64 {
        // Microseconds that a call takes on a real device with pages of 2 MiB: medians on an A100
        // (ovg-project/kvcached, bench_vmm); a release: as an unmap, by whoever models replays.
        let costs = [
            ("creates", self.creates, 193.0),
            ("releases", self.releases, 25.0),
            ("maps", self.maps, 1.45),
            ("access", self.access, 36.0),
            ("unmaps", self.unmaps, 25.6),
            ("reserves", self.reserves, 19.0),
        ];
        let modelled = |(name, calls, microseconds)| {
            let taken = calls as f64 * microseconds / 1000.0;
            println!("{name:<12} {calls:>7} {taken:>9.2} ms");
            taken
        };
        println!("{} events, {} waits", self.events, self.waits);
        costs.map(modelled).iter().sum()
    }
}
