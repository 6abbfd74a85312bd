//! `cargo xtask exports`: every format of every kind of input, opened by the tool that it is for, with the
//! figures of `whyoom why --json`; and what each costs in bytes.

mod consumers;
mod inputs;
mod per_event;
mod right;

use anyhow::{Context, Result, ensure};
use consumers::Consumers;
use inputs::Input;
use serde_json::Value;

use crate::{
    lab::Bench,
    tools::{scratch, why},
};

pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let bench = Bench::prepare()?;
    let consumers = Consumers::prepare(&bench)?;
    let inputs = inputs::all(&bench)?;
    let mut figures = 0;
    println!("{:<44} {:>9} {:>9} {:>9} {:>9}", "", "perfetto", "pprof", "parquet", "snapshot");
    for input in &inputs {
        let compared = open_everywhere(&consumers, input).with_context(|| input.name.clone())?;
        let [perfetto, pprof, parquet, snapshot] = compared;
        println!("{:<44} {perfetto:>9} {pprof:>9} {parquet:>9} {snapshot:>9}", input.name);
        figures += compared.iter().sum::<usize>();
    }
    println!("(figures that are equal to those of whyoom why --json)\n");
    let run = inputs.iter().find(|input| input.is_measured).context("no run to measure")?;
    let sizes = per_event::measure(&consumers, run, arguments.contains(&"--bless".to_owned()))?;
    println!(
        "exports: {figures} figures of {} inputs are those of whyoom why, in trace processor, pprof, duckdb and \
         _memory_viz; bytes an event: {sizes}",
        inputs.len()
    );
    Ok(())
}

/// Exports an input into each format and opens it; how many figures were equal in each.
fn open_everywhere(consumers: &Consumers, input: &Input) -> Result<[usize; 4]> {
    let whyoom = consumers.whyoom();
    let said = why(whyoom, &[&input.path])?;
    ensure!(said["totals"].as_array().is_some_and(|all| !all.is_empty()), "it has no memory");
    let exported = |ending| consumers.export(input, ending);
    Ok([
        right::perfetto(&said, &consumers.perfetto(&exported("perfetto-trace")?)?)
            .context("perfetto")?,
        right::pprof(&said, |index| consumers.pprof(&exported("pb.gz")?, index))
            .context("pprof")?,
        right::parquet(&said, &consumers.duckdb(&exported("parquet")?)?).context("parquet")?,
        snapshot(consumers, input, &said).context("pytorch-snapshot")?,
    ])
}

/// A snapshot has the right figures in PyTorch's own reader, and in ours.
fn snapshot(consumers: &Consumers, input: &Input, said: &Value) -> Result<usize> {
    let file = consumers.export(input, "pickle")?;
    let in_torch = right::snapshot(said, &consumers.memory_viz(&file)?)?;
    let again = why(consumers.whyoom(), &[&file])?;
    let in_ours = right::round_trip(said, &again, input.is_snapshot)?;
    Ok(in_torch + in_ours)
}

/// Where exports are put.
fn folder() -> Result<std::path::PathBuf> {
    scratch("exports")
}
