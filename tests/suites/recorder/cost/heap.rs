//! Nothing is taken from the program's heap while it calls the driver.

use anyhow::{Result, ensure};
use harness::{Held, Trial};
use serde::Deserialize;

use super::{Recording, figures};
use crate::recorder::programs_in_c::program;

const CALLS: u64 = 100_000;

#[derive(Deserialize)]
struct Heap {
    calls: u64,
    /// How often memory was taken from the heap meanwhile, and how often by the recorder.
    taken: u64,
    by_recorder: u64,
}

pub(super) fn measure() -> Result<Held> {
    let trial = Trial::new("8GiB", &[program("heap")?, CALLS.to_string()]);
    let run = |recording| figures::<Heap>("cost-heap", &trial, recording);
    let alone = run(Recording::Off)?;
    println!("{CALLS} driver calls alone take from the heap {} times", alone.taken);
    for stacks in ["off", "all"] {
        let Heap { calls, taken, by_recorder } = run(Recording::On(stacks))?;
        println!("recorded, stacks={stacks}: {taken} times, the recorder {by_recorder} times");
        ensure!((calls, alone.calls) == (CALLS, CALLS), "{calls} calls, alone {}", alone.calls);
        ensure!(taken == alone.taken && by_recorder == 0, "the recorder takes from the heap");
    }
    Ok(Held::new(format!("nothing taken from the program's heap in {CALLS} calls")))
}
