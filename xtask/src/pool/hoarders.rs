//! Two allocators in one process that keep what they have: without the pool each holds its own share,
//! and a device that is large enough for one at a time is too small for both.

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use whyoom_trace::Bytes;

use super::{EVERYTHING, POOL, source};
use crate::{
    recorder::{
        stage::{Stage, python},
        trial::{Ran, Trial, text},
    },
    tools::number,
};

const MEMORY: &str = "4GiB";
/// Of the device, in eighths, what the two use in turn: little enough for both caches, and too much.
const LITTLE: &str = "3";
const MUCH: &str = "5";

pub(super) fn run(stage: &Stage) -> Result<String> {
    let trial = |share: &str| -> Result<Trial> {
        let command = [python()?, text(&source("hoarders.py")), share.to_owned()];
        Ok(Trial::new(MEMORY, &command))
    };
    let under = |share: &str, option: &str| -> Result<Ran> {
        let name = format!("pool-hoarders-{share}{option}");
        Ok(trial(share)?.recorded_with(stage, &name, &[option])?.ran)
    };
    let alone = show("without the pool", &trial(LITTLE)?.plain(stage)?)?;
    show("the pool under PyTorch", &under(LITTLE, POOL)?)?;
    let both = show("the pool under both", &under(LITTLE, EVERYTHING)?)?;
    let (alone, both) = (times(&alone), times(&both));
    ensure!(alone > 1.9, "the two do not hoard: {alone:.2} times what is in use");
    ensure!(both < 1.1, "under the pool they still hold {both:.2} times what is in use");

    let died = trial(MUCH)?.plain(stage)?;
    let last = died.stderr.lines().last().unwrap_or_default();
    ensure!(died.status == 1 && last.starts_with("MemoryError"), "{}", died.stderr);
    println!("{:<24} dies where the two use {MUCH}/8 of the device: {last}", "without the pool");
    let lived = show("the pool under both", &under(MUCH, EVERYTHING)?)?;
    Ok(format!(
        "two hoarding allocators take {alone:.2} times what they use in turn, with the pool under both \
         {both:.2} times; using {MUCH}/8 of the device they die without and live with it ({:.2} times)",
        times(&lived)
    ))
}

/// What was taken of the device, as a multiple of what was in use at a time.
fn times(figures: &Value) -> f64 {
    number(&figures["taken"]) / number(&figures["in_use"])
}

fn show(how: &str, ran: &Ran) -> Result<Value> {
    let figures = ran.figures().with_context(|| how.to_owned())?;
    let bytes = |name: &str| Bytes(number(&figures[name]) as u64).to_string();
    println!("{how:<24} {} in use at a time, {} taken", bytes("in_use"), bytes("taken"));
    Ok(figures)
}
