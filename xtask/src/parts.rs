//! Commands that consist of parts, of which some may be asked for.

use std::time::Instant;

use anyhow::{Context, Result, ensure};

/// A part: its name, and what prints what it saw and returns its figure.
pub(crate) type Part<T> = (&'static str, fn(&T) -> Result<String>);

/// Runs parts whose figures are of a simulated GPU.
pub(crate) fn run<T>(
    command: &str,
    parts: &[Part<T>],
    wanted: &[String],
    bench: impl FnOnce() -> Result<T>,
) -> Result<()> {
    run_on("a simulated GPU", command, parts, wanted, bench)
}

/// Runs the parts that are wanted, or all; the last line is the figure of the whole.
pub(crate) fn run_on<T>(
    place: &str,
    command: &str,
    parts: &[Part<T>],
    wanted: &[String],
    bench: impl FnOnce() -> Result<T>,
) -> Result<()> {
    let known = |name: &String| parts.iter().any(|(part, _)| part == name);
    let names: Vec<_> = parts.iter().map(|(name, _)| *name).collect();
    ensure!(wanted.iter().all(known), "the parts are {}", names.join(", "));
    let bench = bench()?;
    let mut figures = Vec::new();
    for (name, part) in parts {
        if wanted.is_empty() || wanted.iter().any(|word| word == name) {
            let started = Instant::now();
            println!("\n--- {name}");
            let figure = part(&bench).with_context(|| format!("part {name}"))?;
            figures.push(format!("{name}: {figure} ({:.0} s)", started.elapsed().as_secs_f64()));
        }
    }
    println!("\n{}", figures.join("\n"));
    let (held, all) = (figures.len(), parts.len());
    let unasked = if held < all { " (the others were not asked for)" } else { "" };
    println!("{command}: {held} of {all} parts hold{unasked}, on {place}");
    Ok(())
}
