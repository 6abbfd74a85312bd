//! What is added to a driver call.

use anyhow::{Result, bail};

use super::{Figure, Recording, Stage, Trial, medians};
use crate::recorder::trial::text;

/// The most that may be added to a call without stacks, in nanoseconds of a processor at 3 GHz: the
/// machines that measure are shared, and their speed changes by half from minute to minute.
const BAR: f64 = 150.0;

/// What a multiplication that waits for the one before takes there: three cycles.
const MULTIPLICATION: f64 = 1.0;

/// Enough for a median that does not move.
const BATCHES: &str = "500";

/// The anchor, and what is measured by it.
const ANCHOR: &str = "multiply_ns";
const KINDS: [(&str, &str); 2] = [
    ("cuMemAllocAsync, cuMemFreeAsync", "stream_ordered_ns"),
    ("cuMemAlloc, cuMemFree", "plain_ns"),
];

pub(super) fn measure(stage: &Stage) -> Result<Figure> {
    let trial = Trial::new("8GiB", &[text(&stage.program("cost")), BATCHES.to_owned()]);
    let how = [Recording::Off, Recording::On("off"), Recording::On("all")];
    let trials = how.map(|how| (trial.clone(), how));
    let figures = [KINDS[0].1, KINDS[1].1, ANCHOR];
    let measured = medians(stage, &trials, &figures)?;
    let [kinds @ .., anchor] = measured.as_slice() else { bail!("nothing was measured") };
    println!(
        "{:<34} {:>9} {:>16} {:>10} {:>16}",
        "a driver call", "alone", "without stacks", "at 3 GHz", "with stacks"
    );
    let mut worst: f64 = 0.0;
    for ((name, _), [alone, without, with]) in KINDS.iter().zip(kinds) {
        let (added, added_with) = (without - alone, with - alone);
        let steady = (without / anchor[1] - alone / anchor[0]) * MULTIPLICATION;
        println!(
            "{name:<34} {alone:>6.0} ns {added:>+13.0} ns {steady:>+7.0} ns {added_with:>+13.0} ns"
        );
        worst = worst.max(steady);
    }
    let said =
        format!("{worst:.0} ns at 3 GHz added to a driver call without stacks (at most {BAR:.0})");
    Ok(Figure { said, holds: worst <= BAR })
}
