//! `cargo xtask stacks programs`: programs that people run, each in four ways, and `docs/stacks.md`.

mod cell;
mod limited;
mod page;
mod peaks;
mod row;
mod sum;
mod table;
mod way;

use anyhow::{Result, ensure};
use clap::Args;
use harness::{Build, Held};
use row::Row;
use sum::{BAR, Sum};

use crate::suites;

/// `cargo xtask stacks`.
#[derive(Args)]
pub(crate) struct Wish {
    /// The parts that are asked for; `programs [NAME…]`: the programs of tests/scenarios/stacks/programs.toml
    parts: Vec<String>,
    /// Write docs/stacks.md
    #[arg(long)]
    bless: bool,
}

pub(crate) fn run(wish: &Wish) -> Result<Option<Held>> {
    match wish.parts.split_first() {
        Some((first, names)) if first == "programs" => programs(names, wish.bless).map(Some),
        _ => {
            ensure!(!wish.bless, "only `stacks programs` writes a page");
            suites::run("stacks", &wish.parts).map(|()| None)
        }
    }
}

fn programs(names: &[String], bless: bool) -> Result<Held> {
    let table = table::read()?;
    let chosen = table::chosen(&table.programs, names)?;
    ensure!(!bless || names.is_empty(), "the page has all programs: --bless goes without a name");
    let build = Build::ready()?;
    println!("{:<16} {:<10} {:<10} {:<10} {:<10}", "program", "lab", "fit", "run, OOM", "pool");
    let mut rows = Vec::new();
    for program in chosen {
        let row = Row::of(program, |way| way.tried(build, program));
        println!("{row}");
        rows.push(row);
    }
    let not_tried = if names.is_empty() { &table.not_tried[..] } else { &[] };
    for program in not_tried {
        println!("not tried: {}: {}", program.what, program.why);
    }
    let sum = Sum::of(&rows, not_tried.len());
    if bless {
        page::write(&rows, not_tried, sum)?;
    }
    let least = if names.is_empty() { BAR } else { rows.len() };
    ensure!(sum.green >= least, "{sum}; the bar is {least}");
    Ok(Held::new(sum.to_string()))
}
