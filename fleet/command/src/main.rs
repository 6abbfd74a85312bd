//! `whyoom-fleet`: why the GPUs of a cluster run out of memory.

mod cli;
mod copy;
mod passed_over;
mod replay;
mod report;
mod sql;

use std::{
    process::ExitCode,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use anyhow::{Context as _, Result};
use clap::Parser as _;
use jiff::{Timestamp, ToSpan as _, civil::Date, tz::TimeZone};
use whyoom_agent::Settings;
use whyoom_archive::Archive;

use crate::{
    cli::{AgentWish, Cli, Command, CompactWish, ForgetWish},
    passed_over::Damaged,
};

fn main() -> ExitCode {
    match run(Cli::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // It may name an object, whose name somebody else chose.
            eprintln!("error: {}", whyoom_redact::visible_lines(&format!("{error:#}")));
            ExitCode::FAILURE
        }
    }
}

fn run(cli: Cli) -> Result<()> {
    match cli.command {
        Command::Agent(wish) => agent(&wish),
        Command::Report(wish) => report::run(&wish),
        Command::Sql(wish) => sql::run(&wish),
        Command::Replay(wish) => replay::run(&wish),
        Command::Copy(wish) => copy::run(&wish),
        Command::Compact(wish) => compact(&wish),
        Command::Forget(wish) => forget(&wish),
    }
}

fn agent(wish: &AgentWish) -> Result<()> {
    let settings = Settings::read(&wish.settings)?;
    if wish.check {
        println!("{}: usable", wish.settings.display());
        return Ok(());
    }
    if wish.once {
        let archived = whyoom_agent::run_once(&settings)?;
        println!("{archived} incidents archived in {}", settings.archive);
        return Ok(());
    }
    let stop = Arc::new(AtomicBool::new(false));
    let mut signals = signal_hook::iterator::Signals::new([
        signal_hook::consts::SIGTERM,
        signal_hook::consts::SIGINT,
    ])?;
    let told = stop.clone();
    std::thread::spawn(move || {
        for _ in signals.forever() {
            told.store(true, Ordering::Relaxed);
        }
    });
    Ok(whyoom_agent::run(&settings, &stop)?)
}

fn compact(wish: &CompactWish) -> Result<()> {
    let archive = Archive::existing(&wish.archive)?;
    let mut days: Vec<Date> = Vec::new();
    for day in archive.days()? {
        if wish.day.is_none_or(|wanted| wanted == day) {
            days.push(day);
        }
    }
    for day in days {
        let done = archive.compact(day)?;
        println!("{day}: {} objects are {}, {} incidents", done.read, done.written, done.incidents);
    }
    print_passed_over(&archive);
    Ok(())
}

fn forget(wish: &ForgetWish) -> Result<()> {
    let archive = Archive::existing(&wish.archive)?;
    let today = Timestamp::now().to_zoned(TimeZone::UTC).date();
    let first = today.checked_sub(i64::from(wish.days).days()).context("too many days")?;
    println!("{} objects of before {first} removed", archive.remove_before(first)?);
    print_passed_over(&archive);
    Ok(())
}

fn print_passed_over(archive: &Archive) {
    let damaged = Damaged::of(&archive.damaged());
    for line in passed_over::line(&archive.passed_over()).into_iter().chain(damaged.line()) {
        println!("{line}");
    }
}
