//! The fifteen programs: the same output and end as without, every driver call and every block, and
//! the right verdict.

use anyhow::{Context, Result, ensure};
use harness::{Check, FIFTEEN, Held, Recorded, Trial, empty_folder, fifteen, text};

use super::{
    blocks,
    calls::{self, Calls},
    programs_in_c::source,
};

/// The first process of this one uses no CUDA, so that PyTorch has nothing to say of it.
const UNOBSERVED: &str = "program15";

pub(super) fn checks() -> Vec<Check> {
    let check =
        |(name, cause)| Check::new(format!("programs::{name}"), move || judged(name, cause));
    FIFTEEN.iter().copied().map(check).collect()
}

fn judged(name: &str, cause: &str) -> Result<Held> {
    let program = fifteen(name)?;
    let (recorded, calls) = recorded_right(&program.trial, name)?;
    recorded.verdict()?.has_cause(cause)?;
    if !program.is_torch || name == UNOBSERVED {
        let held = Held::new(format!("{calls} driver calls, {cause}"));
        return Ok(held.count("driver calls", calls));
    }
    let blocks = every_block(program.trial, name)?;
    let held = Held::new(format!("{calls} driver calls, {blocks} blocks, {cause}"));
    Ok(held.count("driver calls", calls).count("blocks", blocks))
}

/// The program behaves as without, and the recording has the lab's calls.
pub(super) fn recorded_right(trial: &Trial, name: &str) -> Result<(Recorded, u64)> {
    let plain = trial.plain_shared().context("without recording")?;
    let recorded = trial.recorded(&format!("recorder/{name}"))?;
    recorded.ran.like(&plain)?;
    let calls = same_calls(&recorded)?;
    Ok((recorded, calls))
}

/// What the recorder recorded is what the lab logged; how many calls that is.
pub(super) fn same_calls(recorded: &Recorded) -> Result<u64> {
    let own = Calls::recorded(&calls::read(&recorded.folder)?);
    own.are(&Calls::logged(&recorded.log)?)?;
    ensure!(own.count() > 0, "there was nothing to record");
    Ok(own.count())
}

/// The program once more, with PyTorch's own history beside.
fn every_block(mut trial: Trial, name: &str) -> Result<u64> {
    let folder = empty_folder(&format!("recorder/{name}-history"))?;
    let wrapped = [text(&source("observed.py")), text(&folder.join("of"))];
    trial.command.splice(1..1, wrapped);
    let recorded = trial.recorded(&format!("recorder/{name}-observed"))?;
    recorded.ran.succeeded().context("observed")?;
    blocks::agree(&calls::read(&recorded.folder)?, &folder, &recorded.verdict()?)
}
