//! Threads, children, other users and folders, and every way to end: recorded right, or stopped with
//! one line that says why.

use anyhow::{Result, ensure};

use super::{
    calls::{self, Calls},
    programs::{recorded_right, same_calls},
    stage::{Stage, python, source},
    tally::Tally,
    trial::{Ran, Trial, text},
};
use crate::who::{is_root, skipped};

/// Each with the processes that use the driver.
const LIVES: &[(&str, usize)] = &[
    ("threads", 1),
    ("fork", 2),
    ("late-fork", 1),
    ("exec", 2),
    ("close", 1),
    ("fault", 1),
    ("kill", 1),
    ("folder", 1),
];

const RANKS: usize = 4;

pub(super) fn run(stage: &Stage) -> Result<String> {
    let mut tally = Tally::default();
    for (life, processes) in LIVES {
        tally.case(life, || lived(stage, life, *processes));
    }
    if is_root() {
        tally.case("user", || other_user(stage));
    } else {
        skipped("a change of user");
    }
    tally.case("four processes", || launch(stage));
    let held = tally.all()?;
    Ok(format!("{held} lives recorded right, or stopped with one line"))
}

fn trial(stage: &Stage, life: &str) -> Trial {
    Trial::new("8GiB", &[text(&stage.program("lives")), life.to_owned()])
}

fn lived(stage: &Stage, life: &str, processes: usize) -> Result<String> {
    let (recorded, count) = recorded_right(stage, &trial(stage, life), life)?;
    let seen = Calls::recorded(&calls::read(&recorded.folder)?).processes();
    ensure!(seen == processes, "{seen} processes in place of {processes}");
    Ok(format!("{count} driver calls, {processes} processes, status {}", recorded.ran.status))
}

/// Who may not write to the recording any longer either goes on or stops with one line.
fn other_user(stage: &Stage) -> Result<String> {
    let trial = trial(stage, "user");
    let plain = trial.plain(stage)?;
    let recorded = trial.recorded(stage, "user")?;
    recorded.ran.like(&plain)?;
    let own = Calls::recorded(&calls::salvage(&recorded.folder)?.0);
    let logged = Calls::logged(&recorded.log)?;
    own.begin(&logged)?;
    let (count, all) = (own.count(), logged.count());
    if count == all {
        return Ok(format!("all {all} driver calls"));
    }
    let stopped = |line: &&str| line.starts_with("whyoom: recording stopped");
    let lines = recorded.ran.stderr.lines().filter(stopped).count();
    ensure!(
        lines == 1,
        "{count} of {all} calls, and {lines} lines say why:\n{}",
        recorded.ran.stderr
    );
    Ok(format!("{count} of {all} driver calls, and one line that says why"))
}

/// Four processes by PyTorch's launcher, each on its device. They print in any order.
fn launch(stage: &Stage) -> Result<String> {
    let launcher = ["-m", "torch.distributed.run", "--nproc-per-node", "4"].map(str::to_owned);
    let command = [vec![python()?], launcher.to_vec(), vec![text(&source("ranks.py"))]].concat();
    let mut trial = Trial::new("2GiB", &command);
    trial.lab.extend(["--gpus", "4"].map(str::to_owned));
    let plain = trial.plain(stage)?;
    let recorded = trial.recorded(stage, "launch")?;
    in_order(&recorded.ran).like(&in_order(&plain))?;
    let count = same_calls(&recorded)?;
    let seen = Calls::recorded(&calls::read(&recorded.folder)?).processes();
    ensure!(seen == RANKS, "{seen} processes use the driver");
    Ok(format!("{count} driver calls of {seen} processes"))
}

fn in_order(ran: &Ran) -> Ran {
    let mut lines: Vec<_> = ran.stdout.lines().map(|line| format!("{line}\n")).collect();
    lines.sort();
    Ran { status: ran.status, stdout: lines.concat(), stderr: String::new() }
}
