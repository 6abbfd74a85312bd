//! Ranks that tell each other something: what is sent arrives, and who does not come is named.

use anyhow::{Context, Result, ensure};
use harness::{Check, Held, Ran, Trial, empty_folder, from_str, python};
use serde::Deserialize;

use super::script;

pub(super) fn checks() -> [Check; 7] {
    [
        Check::new("messages::two-ranks", || exchanged(2)),
        Check::new("messages::four-ranks", || exchanged(4)),
        Check::new("messages::lone-receives", lone_receives),
        Check::new("messages::one-process", one_process),
        Check::new("messages::exited", || {
            absent("exited", "ncclAllReduce waits for rank 1, which has exited", 0.0..10.0)
        }),
        Check::new("messages::late", || {
            absent("late", "ncclAllReduce waited 3 s for rank 1;", 3.0..20.0)
        }),
        Check::new("messages::other-call", || {
            absent("other", "but rank 1 sent 16 by ncclBroadcast;", 0.0..10.0)
        }),
    ]
}

/// A script on so many ranks, each with a simulated GPU. What is said on standard error is on standard output:
/// a trial leaves out what the lab says.
fn launched(ranks: u64, words: &[&str]) -> Result<Trial> {
    let count = ranks.to_string();
    let shell = ["sh", "-c", r#"exec "$@" 2>&1"#, "-"];
    let python = python()?;
    let launch = [&python, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node"];
    let command = [&shell[..], &launch, &[&count], words].concat();
    Ok(Trial::on(&["--gpus", &count], &command))
}

/// The line of an answer.
fn answer(ran: &Ran) -> Result<&str> {
    let mut lines = ran.succeeded()?.stdout.lines();
    lines.find(|line| line.starts_with('{')).with_context(|| format!("no answer:\n{}", ran.stdout))
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Exchanged {
    world: u64,
    checked: Vec<String>,
}

/// The script itself compares what arrives with what was sent.
fn exchanged(ranks: u64) -> Result<Held> {
    let folder = empty_folder(&format!("messages-{ranks}"))?;
    let trial = launched(ranks, &[&script("messages.py")])?;
    let ran = trial.with("MESSAGES_FOLDER", &folder).plain()?;
    let told: Exchanged = from_str(answer(&ran)?)?;
    ensure!(told.world == ranks && told.checked.len() == 8, "{told:?}");
    Ok(Held::new(format!(
        "{ranks} ranks: objects, reductions, pairs, slots and subgroups arrive as they were sent; barriers wait"
    ))
    .count("kinds of exchange", told.checked.len() as u64))
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct LoneReceives {
    got: [i64; 3],
    seconds: [f64; 3],
    batched: i64,
}

/// Ranks that receive before they send go on, without the data; what follows is not disturbed.
fn lone_receives() -> Result<Held> {
    let trial = launched(2, &[&script("lone_receives.py")])?;
    // A tenth of it.
    let ran = trial.with("WHYOOM_LAB_NCCL_TIMEOUT", "100").plain()?;
    let told: LoneReceives = from_str(answer(&ran)?)?;
    let line = "whyoom lab: ncclRecv alone in its group waited 10 s for rank ";
    ensure!(ran.stdout.contains(line), "no line says “{line}”:\n{}", ran.stdout);
    // Who came first goes on first, and the other one may get its data. No turn gets that of another.
    let in_order = (0..).zip(told.got).all(|(turn, got)| got == turn || got == -1);
    ensure!(in_order && told.batched == 42, "{told:?}");
    let [first, later @ ..] = told.seconds;
    let only_first = (8.0..30.0).contains(&first) && later.iter().all(|&seconds| seconds < 8.0);
    ensure!(only_first, "{told:?}");
    Ok(Held::new(format!("both ranks go on after {first:.1} s; a batch gets its data")))
}

/// Two ranks in one process. The script itself checks its answers.
fn one_process() -> Result<Held> {
    let command = [python()?, script("one_process.py")];
    let ran = Trial::on(&["--gpus", "2"], &command.each_ref().map(String::as_str)).plain()?;
    ensure!(ran.succeeded()?.stdout.trim() == "4 checks", "{}", ran.stdout);
    Ok(Held::new(
        "a factor outlives its operator; splits in a group are refused; an abort ends waits",
    ))
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Failed {
    error: String,
    seconds: f64,
}

/// A rank that does not come is named, on standard error and in the error, in so many seconds.
fn absent(how: &str, line: &str, within: std::ops::Range<f64>) -> Result<Held> {
    let ran = launched(2, &[&script("absent_rank.py"), how])?.plain()?;
    let told: Failed = from_str(answer(&ran)?)?;
    let is_line = |text: &str| text.starts_with("whyoom lab: nccl") && text.contains(line);
    ensure!(ran.stdout.lines().any(is_line), "no line says “{line}”:\n{}", ran.stdout);
    ensure!(told.error.contains(line), "the error does not say “{line}”: {}", told.error);
    ensure!(within.contains(&told.seconds), "after {} s", told.seconds);
    Ok(Held::new(format!("“{line}”, after {:.1} s", told.seconds)))
}
