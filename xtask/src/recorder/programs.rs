//! The fifteen programs: the same output and end as without, every driver call and every block, and
//! the right verdict.

use std::{fs, path::Path};

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::{
    blocks,
    calls::{self, Calls},
    stage::{Stage, fresh, python, source},
    tally::Tally,
    trial::{Recorded, Trial, text},
};
use crate::{lab::programs::build, tools::root};

/// Each program with what is true of it.
pub(crate) const PROGRAMS: &[(&str, &str)] = &[
    ("program01", "healthy"),
    ("program02", "unchecked-error"),
    ("program03", "mempool-held"),
    ("program04", "healthy"),
    ("program05", "healthy"),
    ("program06", "cache-held"),
    ("program07", "device-heap"),
    ("program08", "pinned-host"),
    ("program09", "request-too-big"),
    ("program10", "growth"),
    ("program11", "other-process"),
    ("program12", "leak-at-exit"),
    ("program13", "working-set"),
    ("program14", "working-set"),
    ("program15", "other-process"),
];

/// The first process of this one uses no CUDA, so that PyTorch has nothing to say of it.
const UNOBSERVED: &str = "program15";

pub(super) fn run(stage: &Stage) -> Result<String> {
    let folder = build()?;
    let mut tally = Tally::default();
    let (mut driver_calls, mut torch_blocks) = (0, 0);
    for (name, cause) in PROGRAMS {
        tally.case(name, || {
            let (trial, torch) = trial(&folder, name)?;
            let (recorded, calls) = recorded_right(stage, &trial, name)?;
            driver_calls += calls;
            let mut blocks = String::new();
            if torch && *name != UNOBSERVED {
                let count = every_block(stage, &trial, name)?;
                blocks = format!("{count} blocks, ");
                torch_blocks += count;
            }
            has_cause(&recorded.verdict(stage)?, cause)?;
            Ok(format!("{calls} driver calls, {blocks}{cause}"))
        });
    }
    let count = tally.all()?;
    Ok(format!(
        "{count} programs judged right; {driver_calls} driver calls and {torch_blocks} blocks, none \
         missing, none extra"
    ))
}

/// The program behaves as without, and the recording has the lab's calls.
pub(super) fn recorded_right(
    stage: &Stage,
    trial: &Trial,
    name: &str,
) -> Result<(Recorded, usize)> {
    let plain = trial.plain(stage).context("without recording")?;
    let recorded = trial.recorded(stage, name)?;
    recorded.ran.like(&plain)?;
    let calls = same_calls(&recorded)?;
    Ok((recorded, calls))
}

/// What the recorder recorded is what the lab logged; how many calls that is.
pub(super) fn same_calls(recorded: &Recorded) -> Result<usize> {
    let own = Calls::recorded(&calls::read(&recorded.folder)?);
    own.are(&Calls::logged(&recorded.log)?)?;
    ensure!(own.count() > 0, "there was nothing to record");
    Ok(own.count())
}

/// The program once more, with PyTorch's own history beside.
fn every_block(stage: &Stage, trial: &Trial, name: &str) -> Result<usize> {
    let folder = fresh(&format!("{name}-history"))?;
    fs::create_dir_all(&folder)?;
    let out = folder.join("history");
    let mut observed = trial.clone();
    let wrapped = [text(&source("observed.py")), text(&out)];
    observed.command.splice(1..1, wrapped);
    let recorded = observed.recorded(stage, &format!("{name}-observed"))?;
    ensure!(recorded.ran.status == 0, "observed, it fails: {}", recorded.ran.stderr);
    let verdict = recorded.verdict(stage)?;
    blocks::agree(&calls::read(&recorded.folder)?, &out, &verdict)
}

fn has_cause(verdict: &Value, cause: &str) -> Result<()> {
    let said = &verdict["verdict"];
    ensure!(said["cause"] == cause, "{} in place of {cause}: {}", said["cause"], said["headline"]);
    Ok(())
}

/// One of the programs, where those in CUDA C are in this folder; whether it is one of PyTorch's.
pub(crate) fn trial(folder: &Path, name: &str) -> Result<(Trial, bool)> {
    let torch = torch_program(name)?.map(|trial| (trial, true));
    Ok(torch.unwrap_or_else(|| (cuda_program(&text(&folder.join(name)), name), false)))
}

fn cuda_program(program: &str, name: &str) -> Trial {
    let mut trial = Trial::new("2GiB", &[program]);
    if name == "program07" {
        let effect = ["--kernel", "allocate_in_kernel=heap-exhausted"];
        trial.lab.extend(effect.map(str::to_owned));
    }
    trial
}

/// A program of PyTorch's, on the device that `scenarios.json` says.
fn torch_program(name: &str) -> Result<Option<Trial>> {
    let folder = root().join("tests/scenarios/torch");
    let list: Vec<Value> = serde_json::from_slice(&fs::read(folder.join("scenarios.json"))?)?;
    let script = format!("{name}.py");
    let Some(scenario) = list.into_iter().find(|scenario| scenario["script"] == script) else {
        return Ok(None);
    };
    let lab = serde_json::from_value(scenario["gpu"].clone())?;
    let command = vec![python()?, text(&folder.join(script))];
    Ok(Some(Trial { lab, command, ..Trial::default() }))
}
