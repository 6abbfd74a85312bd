//! `cargo xtask stacks programs`: programs that people run, each in four ways, and `docs/stacks.md`.

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

use std::{
    num::NonZeroUsize,
    sync::{Mutex, PoisonError},
    thread,
};

use anyhow::{Result, ensure};
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
    /// Write docs/stacks.md
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

/// Does something with each of many, several at a time; the results are in their order.
fn at_a_time<T: Sync, R: Send>(
    jobs: NonZeroUsize,
    all: &[T],
    each: impl Fn(&T) -> Result<R> + Sync,
) -> Result<Vec<R>> {
    let next = Mutex::new(all.iter().enumerate());
    let work = || {
        let mut done = Vec::new();
        loop {
            let taken = next.lock().unwrap_or_else(PoisonError::into_inner).next();
            let Some((index, one)) = taken else { return Ok(done) };
            done.push((index, each(one)?));
        }
    };
    let mut done: Vec<(usize, R)> = thread::scope(|scope| {
        let workers: Vec<_> = (0..jobs.get()).map(|_| scope.spawn(work)).collect();
        let ended = workers.into_iter().map(|worker| match worker.join() {
            Ok(done) => done,
            Err(panic) => std::panic::resume_unwind(panic),
        });
        ended.collect::<Result<Vec<Vec<_>>>>().map(|parts| parts.into_iter().flatten().collect())
    })?;
    done.sort_by_key(|(index, _)| *index);
    Ok(done.into_iter().map(|(_, result)| result).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_in_order_and_an_error_is_one() {
        let jobs = NonZeroUsize::new(3).unwrap();
        let all: Vec<u32> = (0..20).collect();
        assert_eq!(at_a_time(jobs, &all, |one| Ok(one * 2)).unwrap()[7..9], [14, 16]);
        assert!(
            at_a_time(jobs, &all, |one| {
                ensure!(*one != 5, "five");
                Ok(())
            })
            .is_err()
        );
    }
}
