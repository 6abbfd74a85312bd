//! `cargo xtask stacks programs`: programs that people run, each in four ways, and `docs/dev/evidence/stacks.md`.

mod at_a_time;
mod cell;
mod journal;
mod limited;
mod page;
mod peaks;
mod row;
mod starts;
mod sum;
mod table;
mod way;

use std::num::NonZeroUsize;

use anyhow::{Result, ensure};
use at_a_time::at_a_time;
use clap::Args;
use harness::{Build, Held};
use journal::Journal;
use row::Row;
use sum::{BAR, Sum};
use table::Program;
use way::Way;

use crate::suites;

/// `cargo xtask stacks`.
#[derive(Args)]
pub(crate) struct Wish {
    /// The parts that are asked for; `programs [NAME…]`: the programs of tests/scenarios/stacks/programs.toml;
    /// `starts`: vLLM twenty times
    parts: Vec<String>,
    /// Write docs/dev/evidence/stacks.md
    #[arg(long)]
    bless: bool,
    /// Do not run again what was measured with the same binaries
    #[arg(long)]
    resume: bool,
    /// So many programs at a time
    #[arg(long, default_value = "1")]
    jobs: NonZeroUsize,
}

pub(crate) fn run(wish: &Wish) -> Result<Option<Held>> {
    match wish.parts.split_first() {
        Some((first, names)) if first == "programs" => programs(names, wish).map(Some),
        Some((first, [])) if first == "starts" && !wish.bless && !wish.resume => {
            starts::run(wish.jobs).map(Some)
        }
        _ => {
            let is_plain = !wish.bless && !wish.resume;
            ensure!(is_plain, "--bless and --resume are for `stacks programs`");
            suites::run("stacks", &wish.parts).map(|()| None)
        }
    }
}

fn programs(names: &[String], wish: &Wish) -> Result<Held> {
    let table = table::read()?;
    let chosen = table::chosen(&table.programs, names)?;
    ensure!(
        !wish.bless || names.is_empty(),
        "the page has all programs: --bless goes without a name"
    );
    let build = Build::ready()?;
    println!("{:<16} {:<10} {:<10} {:<10} {:<10}", "program", "lab", "fit", "run, OOM", "pool");
    let journal = Journal::open(build)?;
    let tried = |program: &Program, way: Way| {
        if let Some(cell) = journal.cell(program, way).filter(|_| wish.resume) {
            return Ok(cell);
        }
        let cell = way.tried(build, program);
        journal.keep(program, way, &cell).map(|()| cell)
    };
    let rows = at_a_time(wish.jobs, &chosen, |program| {
        let row = Row::of(program, |way| tried(program, way))?;
        println!("{row}");
        Ok(row)
    })?;
    let not_tried = if names.is_empty() { &table.not_tried[..] } else { &[] };
    for program in not_tried {
        println!("not tried: {}: {}", program.what, program.why);
    }
    let sum = Sum::of(&rows, not_tried.len());
    if wish.bless {
        page::write(&rows, not_tried, sum)?;
    }
    let least = if names.is_empty() { BAR } else { rows.len() };
    ensure!(sum.green >= least, "{sum}; the bar is {least}");
    Ok(Held::new(sum.to_string()))
}
