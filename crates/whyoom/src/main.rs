//! The command line: arguments in, calls out.

mod argument_values;
mod arguments;
mod attach;
mod causes;
mod comparison;
mod demo;
mod diff;
mod doctor;
mod executable;
mod exit_status;
mod export;
mod fit;
mod lab;
mod machine;
mod manual;
mod mcp;
mod measured_models;
mod misuse;
mod nearest;
mod obstacle;
mod progress;
mod reading;
mod recorded;
mod replay;
mod report;
mod run;
mod sarif;
mod schema;
mod sitecustomize;
mod source;
mod terminal;
mod top;
mod unopened;
mod unstartable;
mod visible;
mod who;
mod whole_file;
mod whole_run;
mod why;

use std::{ffi::OsString, io, process::ExitCode};

use arguments::{Arguments, Command};
use clap::Parser;
use exit_status::{ANSWERED, FAILED, MISUSED};
use misuse::Misuse;

fn main() -> ExitCode {
    let words: Vec<OsString> = std::env::args_os().collect();
    if lab::assembler::is_wanted(&words) {
        return ended(lab::assembler::run(&words).map(|()| ANSWERED));
    }
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => return misuse::tell(&error),
    };
    terminal::set_colour(arguments.color);
    let outcome = match arguments.command {
        // What runs in the lab, or under the recorder, decides how the command ends.
        Command::Lab { command } => lab::run(command),
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
        Command::Doctor(arguments) => doctor::run(&arguments).map(|()| ANSWERED),
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
    let kind = error.root_cause().downcast_ref::<io::Error>().map(io::Error::kind);
    kind == Some(io::ErrorKind::BrokenPipe)
}
