//! The command line: arguments in, calls out.

// What only commands that need Linux use is used nowhere else.
#![cfg_attr(not(target_os = "linux"), allow(dead_code, unused_imports))]

mod argument_values;
mod arguments;
mod beside;
mod causes;
mod comparison;
mod demo;
mod diff;
mod exit_status;
mod export;
mod interrupted;
mod machine;
mod manual;
mod misuse;
mod nearest;
mod newest;
mod on_path;
mod progress;
mod quantities;
mod reading;
mod recording_origin;
mod replay;
mod report;
mod sarif;
mod schema;
mod source;
mod terminal;
mod unopened;
mod whole_file;
mod why;

#[cfg(target_os = "linux")]
mod attach;
#[cfg(target_os = "linux")]
mod doctor;
#[cfg(target_os = "linux")]
mod executable;
#[cfg(target_os = "linux")]
mod fit;
#[cfg(target_os = "linux")]
mod lab;
#[cfg(target_os = "linux")]
mod mcp;
#[cfg(target_os = "linux")]
mod measured_models;
#[cfg(target_os = "linux")]
mod obstacle;
#[cfg(target_os = "linux")]
mod own_recordings;
#[cfg(target_os = "linux")]
mod parent;
#[cfg(target_os = "linux")]
mod recorded;
#[cfg(target_os = "linux")]
mod run;
#[cfg(target_os = "linux")]
mod sitecustomize;
#[cfg(target_os = "linux")]
mod top;
#[cfg(target_os = "linux")]
mod unstartable;
#[cfg(target_os = "linux")]
mod visible;
#[cfg(target_os = "linux")]
mod who;

/// What other systems have in place of these.
#[cfg(not(target_os = "linux"))]
mod needs_linux;

use std::{io, process::ExitCode};

use arguments::{Arguments, Command};
use clap::Parser;
use exit_status::{ANSWERED, FAILED, MISUSED};
use misuse::Misuse;
#[cfg(not(target_os = "linux"))]
use needs_linux::{attach, doctor, fit, lab, mcp, run, top, who};

fn main() -> ExitCode {
    #[cfg(target_os = "linux")]
    if let Some(outcome) = lab::assembler::run_if_wanted() {
        return ended(outcome.map(|()| ANSWERED));
    }
    #[cfg(target_os = "linux")]
    if let Some(outcome) = attach::helper::run_if_started_as_helper() {
        return ended(outcome.map(|()| ANSWERED));
    }
    #[cfg(target_os = "linux")]
    if !parent::end_with_server() {
        return ExitCode::from(FAILED);
    }
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => return misuse::tell(&error),
    };
    terminal::set_colour(arguments.color);
    let outcome = match arguments.command {
        // What runs in the lab, or under the recorder, decides how the command ends.
        Command::Lab(arguments) => lab::run(&arguments),
        Command::Run(arguments) => run::run(&arguments),
        Command::Attach(arguments) => attach::run(&arguments),
        Command::Fit(arguments) => fit::run(&arguments),
        Command::Diff(arguments) => diff::run(&arguments),
        Command::Who(arguments) => who::run(&arguments),
        Command::Top(arguments) => top::run(&arguments),
        Command::Mcp(arguments) => mcp::run(&arguments),
        Command::Why(arguments) => why::run(&arguments).map(|()| ANSWERED),
        Command::Report(arguments) => report::run(&arguments).map(|()| ANSWERED),
        Command::Export(arguments) => export::run(&arguments).map(|()| ANSWERED),
        Command::Replay(arguments) => replay::run(&arguments).map(|()| ANSWERED),
        Command::Causes(arguments) => causes::run(&arguments).map(|()| ANSWERED),
        Command::Doctor(arguments) => doctor::run(&arguments),
        Command::Demo(arguments) => demo::run(&arguments).map(|()| ANSWERED),
        Command::Completions { shell } => manual::completions(shell).map(|()| ANSWERED),
        Command::Man { command, output: Some(folder) } => {
            manual::write_pages(&command, &folder).map(|()| ANSWERED)
        }
        Command::Man { command, output: None } => manual::page(&command).map(|()| ANSWERED),
        Command::Schema { name } => schema::run(name.as_deref()).map(|()| ANSWERED),
    };
    ended(outcome)
}

fn ended(outcome: anyhow::Result<u8>) -> ExitCode {
    match outcome {
        Ok(code) => ExitCode::from(code),
        // The reader of our output has gone (`| head`): nobody is left to tell.
        Err(error) if is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            terminal::say(&format!("{error:#}"));
            ExitCode::from(if error.is::<Misuse>() { MISUSED } else { FAILED })
        }
    }
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    /// Windows' number for a pipe whose reader has gone before it was there.
    const NOT_CONNECTED: i32 = 233;
    let error = error.root_cause().downcast_ref::<io::Error>();
    error.is_some_and(|error| {
        error.kind() == io::ErrorKind::BrokenPipe
            || (cfg!(windows) && error.raw_os_error() == Some(NOT_CONNECTED))
    })
}
