//! Nothing is taken from the program's heap while it calls the driver.

use anyhow::Result;

use super::{Figure, Recording, Stage, Trial, figures};
use crate::recorder::trial::text;

const CALLS: &str = "100000";

pub(super) fn measure(stage: &Stage) -> Result<Figure> {
    let trial = Trial::new("8GiB", &[text(&stage.program("heap")), CALLS.to_owned()]);
    let alone = figures(stage, &trial, Recording::Off)?;
    println!("\n{CALLS} driver calls alone take from the heap {} times", alone["taken"]);
    let mut holds = true;
    for stacks in ["off", "all"] {
        let recorded = figures(stage, &trial, Recording::On(stacks))?;
        let (taken, own) = (&recorded["taken"], &recorded["by_recorder"]);
        println!("recorded, stacks={stacks}: {taken} times, the recorder {own} times");
        holds &= *taken == alone["taken"] && *own == 0;
    }
    let what = if holds { "nothing" } else { "something" };
    Ok(Figure { said: format!("{what} taken from the program's heap in {CALLS} calls"), holds })
}
