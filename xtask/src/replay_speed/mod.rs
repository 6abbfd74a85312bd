//! `cargo xtask replay-speed`: what one allocation or free costs in a replay, against PyTorch's
//! algorithm over ordered sets.

mod instructions;
mod reference;
mod subject;
mod turn;

use std::time::Instant;

use anyhow::{Context, Result, ensure};
use clap::Args;

use self::{
    subject::{SUBJECTS, Subject},
    turn::{RECORDING, Turn},
};

const EVENTS: usize = 10_000_000;
/// How many times as fast as the reference PyTorch's allocator must be.
const BAR: f64 = 2.0;

/// What was asked for.
#[derive(Args)]
pub(crate) struct Wish {
    /// Replay through one subject alone, so that its instructions can be counted
    #[arg(long, hide = true, requires = "turns")]
    subject: Option<String>,
    /// So many times
    #[arg(long, hide = true)]
    turns: Option<usize>,
}

pub(crate) fn run(wish: &Wish) -> Result<()> {
    let turn = Turn::find()?;
    if let (Some(name), Some(turns)) = (&wish.subject, wish.turns) {
        let found = SUBJECTS.iter().find(|(held, _)| held == name);
        let mut subject = (found.with_context(|| format!("no {name}"))?.1)(&turn)?;
        return (0..turns).try_for_each(|_| subject.replay(&turn));
    }
    let turns = EVENTS.div_ceil(turn.events.len());
    println!("{RECORDING}: {turns} times {} events", turn.events.len());
    let rows = measure(&turn, turns)?;
    let [loop_alone, reference, native, ..] = &rows[..] else { anyhow::bail!("rows are missing") };
    println!("{:<12} {:>8} {:>13} {:>14}", "", "ns/op", "instructions", "peak reserved");
    for row in &rows {
        let instructions = row.instructions.zip(loop_alone.instructions);
        let instructions = instructions.map(|(all, of_loop)| format!("{:.0}", all - of_loop));
        let instructions = instructions.as_deref().unwrap_or("not measured");
        let (nanoseconds, peak) = (row.net(loop_alone), row.subject.peak_reserved() >> 20);
        println!("{:<12} {nanoseconds:>8.1} {instructions:>13} {peak:>10} MiB", row.name);
    }
    ensure!(
        native.subject.addresses() == reference.subject.addresses()
            && native.subject.peak_reserved() == reference.subject.peak_reserved(),
        "native and the reference gave different addresses"
    );
    let times = reference.net(loop_alone) / native.net(loop_alone);
    ensure!(times >= BAR, "native is {times:.2} times as fast as the reference, not {BAR}");
    let others = rows[3..].iter();
    let others = others.map(|row| format!("{} {:.1} ns/op", row.name, row.net(loop_alone)));
    println!(
        "replay-speed: native {:.1} ns/op, {times:.1}× the ordered-set reference; {}",
        native.net(loop_alone),
        others.collect::<Vec<_>>().join("; ")
    );
    Ok(())
}

struct Row {
    name: &'static str,
    subject: Box<dyn Subject>,
    /// Nanoseconds of an event.
    nanoseconds: f64,
    instructions: Option<f64>,
}

impl Row {
    /// Nanoseconds without those of the loop.
    fn net(&self, loop_alone: &Self) -> f64 {
        self.nanoseconds - loop_alone.nanoseconds
    }
}

/// The subjects take turns, each a few milliseconds long; each one's median turn counts. What else
/// the machine does then falls on all alike, or on few of their turns.
fn measure(turn: &Turn, turns: usize) -> Result<Vec<Row>> {
    let mut racing = Vec::new();
    for (name, start) in SUBJECTS {
        racing.push((name, start(turn)?, Vec::new()));
    }
    for _ in 0..turns {
        for (name, subject, seconds) in &mut racing {
            let started = Instant::now();
            subject.replay(turn).context(*name)?;
            seconds.push(started.elapsed().as_secs_f64());
        }
    }
    let row = |(name, subject, mut seconds): (&'static str, _, Vec<f64>)| {
        seconds.sort_by(f64::total_cmp);
        let nanoseconds = seconds[turns / 2] * 1e9 / turn.events.len() as f64;
        let instructions = instructions::per_event(name, turn.events.len())?;
        Ok(Row { name, subject, nanoseconds, instructions })
    };
    racing.into_iter().map(row).collect()
}
