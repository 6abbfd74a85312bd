//! Two allocators in one process that keep what they have: without the pool each holds its own share,
//! and a device that is large enough for one at a time is too small for both.

use anyhow::{Context, Result, ensure};
use harness::{Held, Ran, Trial};
use serde::Deserialize;
use whyoom_trace::Bytes;

use super::{EVERYTHING, POOL, script};

const MEMORY: &str = "4GiB";
/// Of the device, in eighths, what the two use in turn: little enough for both caches, and too much.
const LITTLE: &str = "3";
const MUCH: &str = "5";

/// What hoarders.py says.
#[derive(Debug, Deserialize)]
struct Hoard {
    turns: u64,
    /// At a time.
    in_use: u64,
    taken: u64,
    free_at_start: u64,
}

pub(super) fn run() -> Result<Held> {
    let alone = times("without the pool", &trial(LITTLE)?.plain()?)?;
    times("the pool under PyTorch", &under(LITTLE, POOL)?)?;
    let both = times("the pool under both", &under(LITTLE, EVERYTHING)?)?;
    ensure!(alone > 1.9, "the two do not hoard: {alone:.2} times what is in use");
    ensure!(both < 1.1, "under the pool they still hold {both:.2} times what is in use");

    let died = trial(MUCH)?.plain()?;
    let last = died.stderr.lines().last().unwrap_or_default();
    ensure!(died.status == 1 && last.starts_with("MemoryError"), "{}", died.stderr);
    println!("{:<24} dies where the two use {MUCH}/8 of the device: {last}", "without the pool");
    let lived = times("the pool under both", &under(MUCH, EVERYTHING)?)?;
    Ok(Held::new(format!(
        "two hoarding allocators take {alone:.2} times what they use in turn, with the pool under both \
         {both:.2} times; using {MUCH}/8 of the device they die without and live with it ({lived:.2} times)"
    )))
}

fn trial(share: &str) -> Result<Trial> {
    let mut trial = script(MEMORY, "pool/hoarders.py")?;
    trial.command.push(share.to_owned());
    Ok(trial)
}

fn under(share: &str, option: &str) -> Result<Ran> {
    let name = format!("pool-hoarders-{share}{option}");
    Ok(trial(share)?.recorded_with(&name, &[option])?.ran)
}

/// What was taken of the device, as a multiple of what was in use at a time.
fn times(how: &str, ran: &Ran) -> Result<f64> {
    let said: Hoard = ran.figures().with_context(|| how.to_owned())?;
    println!("{how:<24} {} in use at a time, {} taken", Bytes(said.in_use), Bytes(said.taken));
    let plausible = said.turns > 1 && said.in_use > 0 && said.in_use < said.free_at_start;
    // What is in use at the end of a turn was taken by then.
    ensure!(plausible && said.taken >= said.in_use, "{how}: {said:?}");
    Ok(said.taken as f64 / said.in_use as f64)
}
