//! `--vary` against real runs: the script runs at the batch that it names, and runs out of memory at
//! the next one.

use anyhow::{Context, Result, bail, ensure};
use harness::{Check, Held, slug, two_at_a_time};

use super::question::Script;

const GPU: &str = "l4";
/// So many runs may be made for one GPU.
const MAX_RUNS: usize = 6;
/// So many values beyond the named one are tried where it is known to be too small.
const STEPS: usize = 4;

/// A script, and whether a larger batch than the named one is known to run.
struct Edge {
    script: Script,
    underestimates: Option<&'static str>,
}

const fn edge(
    name: &'static str,
    file: &'static str,
    flags: &'static [&'static str],
    batches: &'static str,
) -> Edge {
    Edge { script: Script { name, file, flags, batches }, underestimates: None }
}

/// Ranges in which the edge lies.
const EDGES: &[Edge] = &[
    edge("GPT-2 124M", "gpt2.py", &[], "1..24"),
    edge("ViT-B-16", "vit.py", &["--amp"], "32..416:16"),
    edge("ResNet-50", "resnet50.py", &[], "128..320:8"),
    edge("LSTM", "lstm.py", &[], "64..432:16"),
    Edge {
        underestimates: Some(
            "a convolution whose workspace is refused tries an engine with a smaller one, which a \
             replay of what was asked for cannot know",
        ),
        ..edge("U-Net", "unet.py", &[], "40..136:4")
    },
];

pub(super) fn checks() -> Vec<Check> {
    let check = |edge: &'static Edge| {
        let name = slug(edge.script.name);
        let deep = format!("deep-vary::{name}");
        [
            Check::new(format!("vary::{name}"), || edge.at_the_edge()),
            Check::new(deep, || edge.everywhere()),
        ]
    };
    EDGES.iter().flat_map(check).collect()
}

impl Edge {
    /// What `--vary` names, in how many runs.
    fn named(&self) -> Result<(u64, usize)> {
        let vary = self.script.ask_for_largest(GPU)?;
        let [largest] = &vary.largest[..] else { bail!("one GPU, but {:?}", vary.largest) };
        let runs = vary.runs.len();
        ensure!(runs <= MAX_RUNS, "{runs} runs, {:?}", vary.runs);
        Ok((largest.value.context("nothing fits")?, runs))
    }

    fn runs_at(&self, batch: u64) -> Result<bool> {
        self.script.runs_on(GPU, batch)
    }

    /// Real runs at the named value and at the next.
    fn at_the_edge(&self) -> Result<Held> {
        let (named, runs) = self.named()?;
        let values = values(self.script.batches)?;
        let place = values.iter().position(|value| *value == named);
        let beyond = &values[place.context("it names a value outside the range")? + 1..];
        let next = *beyond.first().context("the range has no edge")?;
        ensure!(self.runs_at(named)?, "{named} fits, it says, and runs out of memory");
        let said = format!("{named} named after {runs} runs, and runs");
        let exact = match (self.underestimates, self.runs_at(next)?) {
            (None, false) => format!("{said}; {next} runs out of memory"),
            (None, true) => bail!("{said}; but {next} runs too: it underestimates"),
            (Some(_), false) => bail!("now exact: remove the mark ({said}, {next} does not)"),
            (Some(why), true) => {
                let (largest, bound) = self.largest_of(&beyond[..STEPS.min(beyond.len())])?;
                format!("{said}; but {largest} runs too{bound}: {why}")
            }
        };
        let underestimates = u64::from(self.underestimates.is_some());
        let held = Held::new(exact).count("scripts", 1);
        Ok(held.count("runs of --vary", runs as u64).count("underestimates", underestimates))
    }

    /// The last of these values that runs, the first of which does.
    fn largest_of(&self, values: &[u64]) -> Result<(u64, &'static str)> {
        for pair in values.windows(2) {
            if !self.runs_at(pair[1])? {
                return Ok((pair[0], ""));
            }
        }
        Ok((*values.last().context("no values")?, ", and perhaps more"))
    }

    /// Real runs at every value of the range.
    fn everywhere(&self) -> Result<Held> {
        let (named, _) = self.named()?;
        let values = values(self.script.batches)?;
        let ran = two_at_a_time(&values, |value| self.runs_at(*value));
        let ran = ran.into_iter().collect::<Result<Vec<bool>>>()?;
        let edge = ran.iter().take_while(|runs| **runs).count();
        ensure!(!ran[edge..].contains(&true), "it runs at larger values again: {ran:?}");
        let largest = *values[..edge].last().context("it runs at no value")?;
        let known = if self.underestimates.is_some() { largest > named } else { largest == named };
        ensure!(known, "{named} named, {largest} runs");
        Ok(Held::new(format!("{named} named, {largest} runs")).count("real runs", ran.len() as u64))
    }
}

/// The values of a range like `8..512:8`.
fn values(range: &str) -> Result<Vec<u64>> {
    let (ends, step) = range.split_once(':').unwrap_or((range, "1"));
    let (first, last) = ends.split_once("..").context("no range")?;
    Ok((first.parse()?..=last.parse()?).step_by(step.parse()?).collect())
}
