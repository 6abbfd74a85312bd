//! `cargo xtask exports`: every format of every kind of input, opened by the tool that it is for, with the
//! figures of `whyoom why --json`; and what each costs in bytes.

mod consumers;
mod figures;
mod inputs;
mod per_event;
mod right;

use anyhow::{Context, Result, ensure};
use consumers::Consumers;
use harness::{Build, Held, documents::Why};
use inputs::Input;

pub(crate) fn run(bless: bool) -> Result<Held> {
    let build = Build::ready()?;
    let (others, torch) = (inputs::others()?, inputs::torch()?);
    let consumers = Consumers::prepare(build)?;
    let (mut inputs, mut figures) = (0, 0);
    println!("{:<44} {:>9} {:>9} {:>9} {:>9}", "", "perfetto", "pprof", "parquet", "snapshot");
    for input in others.iter().chain([&torch]) {
        let compared =
            open_everywhere(build, &consumers, input).with_context(|| input.name.clone())?;
        let [perfetto, pprof, parquet, snapshot] = compared;
        println!("{:<44} {perfetto:>9} {pprof:>9} {parquet:>9} {snapshot:>9}", input.name);
        inputs += 1;
        figures += compared.iter().sum::<usize>();
    }
    println!("(figures that are equal to those of whyoom why --json)\n");
    let sizes = per_event::measure(&consumers, &torch, bless)?;
    Ok(Held::new(format!(
        "{figures} figures of {inputs} inputs are those of whyoom why, in trace processor, pprof, duckdb and \
         _memory_viz; bytes per event: {sizes}"
    )))
}

/// Exports an input into each format and opens it; how many figures were equal in each.
fn open_everywhere(build: &Build, consumers: &Consumers, input: &Input) -> Result<[usize; 4]> {
    let said = Why::ask(build, &[&input.path])?;
    let exported = |ending| consumers.export(input, ending);
    let (profile, snapshot) = (exported("pb.gz")?, exported("pickle")?);
    let again = Why::ask(build, &[&snapshot])?;
    let compared = [
        right::perfetto(&said, &consumers.perfetto(&exported("perfetto-trace")?)?)
            .context("perfetto")?,
        right::pprof(&said, |index| consumers.pprof(&profile, index)).context("pprof")?,
        right::parquet(&said, &consumers.duckdb(&exported("parquet")?)?).context("parquet")?,
        right::snapshot(&said, &consumers.memory_viz(&snapshot)?).context("_memory_viz")?
            + right::round_trip(&said, &again, input.is_snapshot).context("read back")?,
    ];
    ensure!(!compared.contains(&0), "nothing was compared in one of the formats: {compared:?}");
    Ok(compared)
}
