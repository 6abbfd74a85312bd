//! What is added to a driver call.

use anyhow::Result;

use super::{Figure, Recording, Stage, Trial, medians};
use crate::recorder::trial::text;

/// The most that may be added to a call without stacks, in nanoseconds.
const BAR: f64 = 150.0;

/// Enough for a median that does not move.
const BATCHES: &str = "500";

const KINDS: [(&str, &str); 2] = [
    ("cuMemAllocAsync, cuMemFreeAsync", "stream_ordered_ns"),
    ("cuMemAlloc, cuMemFree", "plain_ns"),
];

pub(super) fn measure(stage: &Stage) -> Result<Figure> {
    let trial = Trial::new("8GiB", &[text(&stage.program("cost")), BATCHES.to_owned()]);
    let how = [Recording::Off, Recording::On("off"), Recording::On("all")];
    let trials = how.map(|how| (trial.clone(), how));
    let measured = medians(stage, &trials, &KINDS.map(|(_, figure)| figure))?;
    println!(
        "{:<34} {:>9} {:>16} {:>16}",
        "a driver call", "alone", "without stacks", "with stacks"
    );
    let mut worst: f64 = 0.0;
    for ((name, _), [alone, without, with]) in KINDS.iter().zip(measured) {
        let (added, added_with) = (without - alone, with - alone);
        println!("{name:<34} {alone:>6.0} ns {added:>+13.0} ns {added_with:>+13.0} ns");
        worst = worst.max(added);
    }
    let said = format!("{worst:.0} ns added to a driver call without stacks (at most {BAR:.0})");
    Ok(Figure { said, holds: worst <= BAR })
}
