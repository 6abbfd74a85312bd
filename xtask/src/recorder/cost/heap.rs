//! Nothing is taken from the program's heap while it calls the driver.

use anyhow::{Result, ensure};

use super::{Recording, Stage, Trial, figures};
use crate::recorder::trial::text;

const CALLS: &str = "100000";

pub(super) fn measure(stage: &Stage) -> Result<String> {
    let trial = Trial::new("8GiB", &[text(&stage.program("heap")), CALLS.to_owned()]);
    let alone = figures(stage, &trial, Recording::Off)?;
    println!("\n{CALLS} driver calls alone take from the heap {} times", alone["taken"]);
    for stacks in ["off", "all"] {
        let recorded = figures(stage, &trial, Recording::On(stacks))?;
        println!("recorded, stacks={stacks}: {} times", recorded["taken"]);
        ensure!(
            recorded["taken"] == alone["taken"],
            "the recorder takes from the heap: {recorded}"
        );
        ensure!(recorded["by_recorder"] == 0, "the recorder takes from the heap: {recorded}");
    }
    Ok(format!("nothing taken from the program's heap in {CALLS} calls"))
}
