//! Threads, children, other users and folders, and every way to end: recorded right, or stopped with
//! one line that says why.

use anyhow::{Result, ensure};
use harness::{Check, Held, Need, Ran, Trial, python, text};

use super::{
    calls::{self, Calls},
    programs::{recorded_right, same_calls},
    programs_in_c::{program, source},
};

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

pub(super) fn checks() -> Vec<Check> {
    let lived =
        |&(life, processes)| Check::new(format!("lives::{life}"), move || lived(life, processes));
    let mut checks: Vec<_> = LIVES.iter().map(lived).collect();
    checks.push(Check::new("lives::user", other_user));
    checks.push(Check::new("lives::four-processes", launch));
    checks
}

fn trial(life: &str) -> Result<Trial> {
    Ok(Trial::new("8GiB", &[program("lives")?, life.to_owned()]))
}

fn lived(life: &str, processes: usize) -> Result<Held> {
    let (recorded, count) = recorded_right(&trial(life)?, &format!("lives-{life}"))?;
    let seen = Calls::recorded(&calls::read(&recorded.folder)?).processes();
    ensure!(seen == processes, "{seen} processes in place of {processes}");
    let status = recorded.ran.status;
    Ok(Held::new(format!("{count} driver calls, {processes} processes, status {status}")))
}

/// Who may not write to the recording any longer either goes on or stops with one line.
fn other_user() -> Result<Held> {
    Need::Root.met()?;
    let trial = trial("user")?;
    let plain = trial.plain()?;
    plain.succeeded()?;
    let recorded = trial.recorded("recorder/lives-user")?;
    recorded.ran.like(&plain)?;
    let own = Calls::recorded(&calls::salvage(&recorded.folder)?.0);
    let logged = Calls::logged(&recorded.log)?;
    own.begin(&logged)?;
    let (count, all) = (own.count(), logged.count());
    // It becomes another user after its first calls.
    ensure!(count > 0, "none of {all} calls");
    if count == all {
        return Ok(Held::new(format!("all {all} driver calls")));
    }
    let stderr = &recorded.ran.stderr;
    let stopped = |line: &&str| line.starts_with("whyoom: recording stopped");
    let lines = stderr.lines().filter(stopped).count();
    ensure!(lines == 1, "{count} of {all} calls, and {lines} lines say why:\n{stderr}");
    Ok(Held::new(format!("{count} of {all} driver calls, and one line that says why")))
}

/// Four processes by PyTorch's launcher, each on its device. They print in any order.
fn launch() -> Result<Held> {
    let launcher = ["-m", "torch.distributed.run", "--nproc-per-node", "4"].map(str::to_owned);
    let command = [vec![python()?], launcher.to_vec(), vec![text(&source("ranks.py"))]].concat();
    let trial = Trial::on(&["--memory", "2GiB", "--gpus", "4"], &command);
    let plain = trial.plain()?;
    plain.succeeded()?;
    let recorded = trial.recorded("recorder/four-processes")?;
    in_order(&recorded.ran).like(&in_order(&plain))?;
    let count = same_calls(&recorded)?;
    let seen = Calls::recorded(&calls::read(&recorded.folder)?).processes();
    ensure!(seen == RANKS, "{seen} processes use the driver");
    Ok(Held::new(format!("{count} driver calls of {seen} processes")))
}

fn in_order(ran: &Ran) -> Ran {
    let mut lines: Vec<_> = ran.stdout.lines().map(|line| format!("{line}\n")).collect();
    lines.sort();
    Ran { status: ran.status, stdout: lines.concat(), stderr: String::new() }
}
