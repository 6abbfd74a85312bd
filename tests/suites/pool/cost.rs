//! What an allocation and its free cost through PyTorch's own interface: its native allocator, the
//! wrapper around any allocator that is plugged in, and the pool; and the pool without that wrapper.

use std::{path::PathBuf, process::Command};

use anyhow::{Context, Result, ensure};
use harness::{
    Build, Held, Ran, Trial, cuda, environment, must_succeed, once, root, scratch, site_packages,
    stamp_of, text,
};
use serde::Deserialize;

use super::{POOL, script};

/// Rounds of which the median is taken; a machine that is shared needs many.
const ROUNDS: &str = "41";
/// A pair costs at most so much of PyTorch's own.
const BAR: f64 = 0.4;
/// Eight threads on eight streams do at least so many times as much.
const THROUGHPUT: f64 = 3.0;

/// What the program says: by pattern.
#[derive(Deserialize)]
struct Figures {
    one_at_a_time: Pattern,
    among_others: Pattern,
}

/// By allocator.
#[derive(Deserialize)]
struct Pattern {
    native: Pair,
    wrapper: Pair,
    pool: Pair,
    alone: Pair,
}

/// Nanoseconds of a pair, on one thread and on eight.
#[derive(Clone, Copy, Deserialize)]
struct Pair {
    one_ns: f64,
    eight_ns: f64,
}

/// What pairs.py says.
#[derive(Deserialize)]
struct FromPython {
    memory_ns: f64,
    tensor_ns: f64,
}

pub(super) fn run() -> Result<Held> {
    let command = [text(&program()?), text(&Build::ready()?.pool()), ROUNDS.to_owned()];
    let figures: Figures = Trial::new("24GiB", &command).plain()?.figures()?;
    figures.show();
    from_python()?;
    let one = figures.worst(|pattern| pattern.pool.of(pattern.native).one_ns)?;
    let eight = 1.0 / figures.worst(|pattern| pattern.pool.of(pattern.native).eight_ns)?;
    let alone = 1.0 / figures.worst(|pattern| pattern.alone.of(pattern.native).eight_ns)?;
    let said = format!(
        "a pair costs {one:.2} of PyTorch's own (at most {BAR}); 8 threads on 8 streams do {eight:.1} \
         times as much (at least {THROUGHPUT:.0}), {alone:.1} times without PyTorch's wrapper"
    );
    ensure!(one <= BAR && eight >= THROUGHPUT, "{said}");
    Ok(Held::new(said))
}

/// Builds the program that measures.
pub(super) fn program() -> Result<PathBuf> {
    let torch = site_packages(&environment("torch")?)?.join("torch");
    let folder = root().join("tests/scenarios/pool");
    let (program, build) = (scratch("pool-cost")?.join("cost"), folder.join("build.sh"));
    let made_of = [folder.join("cost.cpp"), build.clone(), torch.join("version.py")];
    once("pool-cost", &stamp_of(&made_of)?, || {
        let mut shell = Command::new("sh");
        must_succeed(shell.arg(&build).arg(&program).arg(&torch).arg(cuda()?))
    })?;
    Ok(program)
}

impl Pair {
    /// As a share of another.
    fn of(self, other: Self) -> Self {
        let (one_ns, eight_ns) = (self.one_ns / other.one_ns, self.eight_ns / other.eight_ns);
        Self { one_ns, eight_ns }
    }
}

impl Figures {
    fn patterns(&self) -> [(&'static str, &Pattern); 2] {
        let words = ["each freed before the next", "among 48 others"];
        [(words[0], &self.one_at_a_time), (words[1], &self.among_others)]
    }

    /// A cost in the pattern where it is worst.
    fn worst(&self, cost: impl Fn(&Pattern) -> f64) -> Result<f64> {
        let worst = self.patterns().map(|(_, pattern)| cost(pattern));
        let worst = worst.into_iter().max_by(f64::total_cmp).context("no pattern")?;
        ensure!(worst.is_normal() && worst > 0.0, "a pair that costs {worst} of another");
        Ok(worst)
    }

    fn show(&self) {
        println!("{:<28} {:<8} {:>10} {:>6} {:>10}", "a pair", "", "1 thread", "", "8 threads");
        for (words, pattern) in self.patterns() {
            let Pattern { native, wrapper, pool, alone } = pattern;
            let named =
                [("native", native), ("wrapper", wrapper), ("pool", pool), ("alone", alone)];
            for (name, pair) in named {
                let (share, Pair { one_ns, eight_ns }) = (pair.of(*native), pair);
                println!(
                    "{words:<28} {name:<8} {one_ns:>7.0} ns {:>5.2}x {eight_ns:>7.0} ns {:>5.2}x",
                    share.one_ns, share.eight_ns
                );
            }
        }
    }
}

/// The same seen from Python, where an interpreter is between.
fn from_python() -> Result<()> {
    let trial = script("24GiB", "pool/pairs.py")?;
    let mut plugged = trial.clone();
    plugged.command.push(text(&Build::ready()?.pool()));
    let show = |name: &str, ran: &Ran| -> Result<()> {
        let FromPython { memory_ns, tensor_ns } = ran.figures()?;
        println!("{name:<28} {memory_ns:>13.0} ns {tensor_ns:>11.0} ns");
        Ok(())
    };
    println!("{:<28} {:>16} {:>14}", "a pair from Python", "memory", "a tensor");
    show("native", &trial.plain()?)?;
    show("pool", &plugged.plain()?)?;
    show("pool, recorded", &trial.recorded_with("pool-pairs", &[POOL])?.ran)
}
