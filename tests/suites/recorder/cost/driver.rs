//! What is added to a driver call.

use anyhow::{Result, ensure};
use harness::{Held, Trial, worst};
use serde::Deserialize;

use super::{Recording, medians};
use crate::recorder::programs_in_c::program;

/// The most that may be added to a call without stacks, in nanoseconds of a processor at 3 GHz: the
/// machines that measure are shared, and their speed changes by half from minute to minute.
const BAR: f64 = 80.0;

/// What a multiplication that waits for the one before takes there: three cycles.
const MULTIPLICATION: f64 = 1.0;

/// Enough for a median that does not move.
const BATCHES: &str = "500";

const KINDS: [&str; 2] = ["cuMemAllocAsync, cuMemFreeAsync", "cuMemAlloc, cuMemFree"];

#[derive(Deserialize)]
struct Costs {
    stream_ordered_ns: f64,
    plain_ns: f64,
    /// The anchor.
    multiply_ns: f64,
}

pub(super) fn measure() -> Result<Held> {
    let trial = Trial::new("8GiB", &[program("cost")?, BATCHES.to_owned()]);
    let how = [Recording::Off, Recording::On("off"), Recording::On("all")];
    let trials = how.map(|how| (trial.clone(), how));
    let taken = |costs: &Costs| [costs.stream_ordered_ns, costs.plain_ns, costs.multiply_ns];
    let [stream_ordered, plain, anchor] = medians("cost-driver", &trials, taken)?;
    println!(
        "{:<34} {:>9} {:>16} {:>10} {:>16}",
        "a driver call", "alone", "without stacks", "at 3 GHz", "with stacks"
    );
    let added = |(name, [alone, without, with]): (&str, [f64; 3])| {
        let (added, added_with) = (without - alone, with - alone);
        let steady = (without / anchor[1] - alone / anchor[0]) * MULTIPLICATION;
        println!(
            "{name:<34} {alone:>6.0} ns {added:>+13.0} ns {steady:>+7.0} ns {added_with:>+13.0} ns"
        );
        steady
    };
    let added: Vec<f64> = KINDS.into_iter().zip([stream_ordered, plain]).map(added).collect();
    let added = worst(&added)?;
    let said =
        format!("{added:.0} ns at 3 GHz added to a driver call without stacks (at most {BAR:.0})");
    ensure!(added <= BAR, "{said}");
    Ok(Held::new(said))
}
