//! GPT-2 with 1.5 billion parameters, sharded over two simulated GPUs: what each rank holds must be
//! what the formulas for its shards give.

use std::time::Instant;

use anyhow::{Context, Result, ensure};
use harness::{Held, Trial, from_str, python};
use serde::Deserialize;

use super::question::script;

const RANKS: usize = 2;
const GPU: &[&str] = &["--gpu", "a100-80gb", "--gpus", "2"];

/// Parameters, gradients and optimizer state between steps, as they were asked for.
const PERSISTENT_WITHIN: f64 = 0.01;
/// The peak of the optimizer's step, which the allocator's rounding is part of.
const STEP_WITHIN: f64 = 0.03;

/// What `fsdp_gpt2.py` prints for each rank; bytes.
#[derive(Deserialize)]
struct Rank {
    rank: usize,
    world: usize,
    persistent: u64,
    rounding: u64,
    kept_by_forward: u64,
    peaks: Peaks,
    peak_allocated: u64,
    peak_reserved: u64,
    outside_allocator: u64,
    formula: Formula,
}

#[derive(Deserialize)]
struct Peaks {
    forward: u64,
    backward: u64,
    step: u64,
}

#[derive(Deserialize)]
struct Formula {
    parameters: u64,
    gradients: u64,
    optimizer: u64,
    optimizer_step: u64,
    gathered_blocks: u64,
    gathered_root: u64,
    whole_gradients: u64,
    reduced_gradients: u64,
    logits: u64,
}

impl Formula {
    /// What a rank holds between steps.
    fn persistent(&self) -> u64 {
        self.parameters + self.gradients + self.optimizer
    }

    /// The least and the most that the backward pass can need beside gradients: it begins with what
    /// the forward pass kept, and adds what is whole for a while.
    fn backward(&self, kept_by_forward: u64) -> (u64, u64) {
        let least = self.parameters + self.optimizer + kept_by_forward;
        let whole = self.gathered_blocks + self.whole_gradients + self.reduced_gradients;
        (least, least + whole + self.logits)
    }
}

pub(super) fn run() -> Result<Held> {
    let (python, script, count) = (python()?, script("fsdp_gpt2.py"), RANKS.to_string());
    let launch = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", &count];
    let program = [&script, "--size", "1.5b", "--bf16"];
    let command = [[python.as_str()].as_slice(), &launch, &program].concat();
    let started = Instant::now();
    let ran = Trial::on(GPU, &command).plain()?;
    let lines = ran.succeeded()?.stdout.lines().filter(|line| line.starts_with('{'));
    let mut ranks = lines.map(from_str::<Rank>).collect::<Result<Vec<_>>>()?;
    ranks.sort_by_key(|rank| rank.rank);
    let numbers: Vec<_> = ranks.iter().map(|rank| (rank.rank, rank.world)).collect();
    ensure!(numbers.iter().copied().eq((0..RANKS).map(|rank| (rank, RANKS))), "{numbers:?}");
    let off = ranks.iter().map(|rank| Ok((checked(rank)? - 1.0).abs()));
    let off = off.collect::<Result<Vec<f64>>>()?;
    let worst = off.into_iter().max_by(f64::total_cmp).context("no ranks")?;
    Ok(Held::new(format!(
        "GPT-2 1.5B over {RANKS} ranks: what is held between steps is the formula's within {:.4} %, \
         peak {} a rank, {:.0} s",
        worst * 100.0,
        gib(ranks[0].peak_allocated),
        started.elapsed().as_secs_f64(),
    )))
}

/// Prints a rank and checks it; the ratio of what it holds to the formula.
fn checked(rank: &Rank) -> Result<f64> {
    print(rank);
    let what = || format!("rank {}", rank.rank);
    let formula = &rank.formula;
    let held = ratio(rank.persistent, formula.persistent());
    ensure!((held - 1.0).abs() <= PERSISTENT_WITHIN, "{}: it holds {held:.4} times that", what());
    let step = ratio(rank.peaks.step, formula.persistent() + formula.optimizer_step);
    ensure!((step - 1.0).abs() <= STEP_WITHIN, "{}: its step takes {step:.4} times that", what());
    let (least, most) = formula.backward(rank.kept_by_forward);
    ensure!((least..=most).contains(&rank.peaks.backward), "{}: its backward pass", what());
    let peak = rank.peaks.forward.max(rank.peaks.backward).max(rank.peaks.step);
    ensure!(rank.peak_allocated == peak, "{}: its peak is in no phase", what());
    Ok(held)
}

fn print(rank: &Rank) {
    let formula = &rank.formula;
    let (least, most) = formula.backward(rank.kept_by_forward);
    println!("rank {}", rank.rank);
    println!(
        "  between steps  {} = {} parameters + {} gradients + {} optimizer; ratio {:.6}",
        gib(rank.persistent),
        gib(formula.parameters),
        gib(formula.gradients),
        gib(formula.optimizer),
        ratio(rank.persistent, formula.persistent()),
    );
    println!("  rounding by the allocator  {}", gib(rank.rounding));
    println!(
        "  peak of the step  {} = that + {} of AdamW's own; ratio {:.4}",
        gib(rank.peaks.step),
        gib(formula.optimizer_step),
        ratio(rank.peaks.step, formula.persistent() + formula.optimizer_step),
    );
    println!(
        "  peak of backward  {}, between {} and {}: {} kept by forward, {} of it the whole root",
        gib(rank.peaks.backward),
        gib(least),
        gib(most),
        gib(rank.kept_by_forward),
        gib(formula.gathered_root),
    );
    println!(
        "  peak  {} allocated, {} reserved; {} outside the allocator (context, NCCL, cuBLAS)",
        gib(rank.peak_allocated),
        gib(rank.peak_reserved),
        gib(rank.outside_allocator),
    );
}

fn ratio(measured: u64, expected: u64) -> f64 {
    measured as f64 / expected as f64
}

fn gib(bytes: u64) -> String {
    format!("{:.3} GiB", bytes as f64 / f64::from(1 << 30))
}
