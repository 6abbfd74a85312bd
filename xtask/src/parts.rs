//! Commands that consist of parts, of which some may be asked for.

use std::time::Instant;

use anyhow::{Result, bail, ensure};
use harness::{Held, Outcome};

/// A part: its name, and what prints what it saw and returns its figure.
pub(crate) type Part<T> = (&'static str, fn(&T) -> Result<Held>);

/// Runs the parts that are wanted, or all; the last line is the figure of the whole.
pub(crate) fn run<T>(command: &str, parts: &[Part<T>], wanted: &[String], given: &T) -> Result<()> {
    let known = |name: &String| parts.iter().any(|(part, _)| part == name);
    let names: Vec<_> = parts.iter().map(|(name, _)| *name).collect();
    ensure!(wanted.iter().all(known), "the parts are {}", names.join(", "));
    let is_wanted = |name: &str| wanted.is_empty() || wanted.iter().any(|word| word == name);
    let mut tally = Tally::default();
    for (name, part) in parts.iter().filter(|(name, _)| is_wanted(name)) {
        let started = Instant::now();
        println!("\n--- {name}");
        let outcome = Outcome::from(part(given));
        tally.add(name, &outcome, started.elapsed().as_secs_f64());
    }
    tally.end(command)
}

/// How many checks ended how.
#[derive(Default)]
pub(crate) struct Tally {
    held: usize,
    failed: usize,
    skipped: usize,
    lines: Vec<String>,
}

impl Tally {
    /// Counts a check.
    pub(crate) fn add(&mut self, name: &str, outcome: &Outcome, seconds: f64) {
        let (count, said) = match outcome {
            Outcome::Held(held) => (&mut self.held, held.figure.clone()),
            Outcome::Failed { why } => (&mut self.failed, format!("FAILED: {why}")),
            Outcome::Skipped { why } => (&mut self.skipped, format!("SKIPPED: {why}")),
        };
        *count += 1;
        self.lines.push(format!("{name}: {said} ({seconds:.0} s)"));
    }

    /// Prints all of it, and last the figure of the whole. An error where one failed, or none held.
    pub(crate) fn end(self, command: &str) -> Result<()> {
        println!("\n{}", self.lines.join("\n"));
        let Self { held, failed, skipped, .. } = self;
        let figure = format!("{held} held, {failed} failed, {skipped} skipped");
        if failed > 0 || held + skipped == 0 {
            bail!("{figure}");
        }
        println!("{command}: {figure}");
        Ok(())
    }
}
