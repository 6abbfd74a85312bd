//! `cargo xtask settings`: what whyoom says of PyTorch's allocator settings, against PyTorch itself.

mod command;
mod counted;
mod keys;
mod lines;
mod operators;
mod printed;
mod sources;
mod texts;
mod wheels;

use std::path::PathBuf;

use anyhow::{Result, ensure};
use clap::Args;
use harness::Held;

use self::wheels::Wheel;

/// The arguments.
#[derive(Args)]
pub(crate) struct Wish {
    /// Also run the PyTorch of this interpreter
    #[arg(long, value_name = "PYTHON")]
    python: Vec<PathBuf>,
}

/// Prints the tables and returns the figure.
pub(crate) fn run(wish: &Wish) -> Result<Held> {
    let measured = keys::read_measured()?;
    let keys = keys::compare(&measured);
    let options = printed::options()?;
    println!("\noptions that a line can set, from the code:");
    for option in &options {
        println!("  {option}");
    }
    let texts = texts::check()?;
    let wheels = Wheel::all(&wish.python)?;
    let accepted = wheels::compare(&wheels, &options)?;
    let operators = operators::compare(&wheels)?;
    let lines = lines::compare(&wheels)?;
    let parts = [
        ("keys × versions, as measured", &keys),
        ("texts × versions", &texts),
        ("printed options × wheels that were run", &accepted),
        ("other printed lines", &lines),
        ("operators' strings × wheels that were run", &operators),
    ];
    println!("\n{:<44} {:>8} {:>6}", "part", "compared", "wrong");
    for (name, counted) in parts {
        println!("{name:<44} {:>8} {:>6}", counted.compared, counted.wrong.len());
        for line in &counted.wrong {
            println!("    {line}");
        }
        ensure!(counted.compared > 0, "{name}: nothing was compared");
    }
    let wrong: usize = parts.iter().map(|(_, counted)| counted.wrong.len()).sum();
    ensure!(wrong == 0, "{wrong} differences");
    Ok(Held::new(format!(
        "{} keys × {} versions as measured; {} printed options and {} other lines, 0 unchecked; run with PyTorch {}; {} texts × versions",
        measured.keys.len(),
        measured.releases.len(),
        options.len(),
        lines.compared,
        wheels.iter().map(|wheel| wheel.version.as_str()).collect::<Vec<_>>().join(", "),
        texts.compared,
    )))
}
