//! The command line: arguments in, calls out.

mod arguments;
mod causes;
mod input;
mod lab;
mod manual;
mod progress;
mod replay;
mod why;

use std::{io, path::Path, process::ExitCode};

use arguments::{Arguments, Command};
use clap::Parser;

/// The input could not be read, or the output not written.
const FAILED: u8 = 1;
/// The arguments are wrong: clap ends with the same.
const MISUSED: u8 = 2;

fn main() -> ExitCode {
    if let Some(file) = std::env::args().nth(1).filter(|word| Path::new(word).is_file()) {
        anstream::eprintln!("whyoom: did you mean:  whyoom why {file}");
        return ExitCode::from(MISUSED);
    }
    let outcome = match Arguments::parse().command {
        // What runs in the lab decides how the command ends.
        Command::Lab { command } => match lab::run(command) {
            Ok(code) => return ExitCode::from(code),
            Err(error) => Err(error),
        },
        Command::Why(arguments) => why::run(&arguments),
        Command::Replay(arguments) => replay::run(&arguments),
        Command::Causes(arguments) => causes::run(&arguments),
        Command::Completions { shell } => manual::completions(shell),
        Command::Man { command } => manual::page(&command),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        // The reader of our output has gone (`| head`): nobody is left to tell.
        Err(error) if is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            anstream::eprintln!("whyoom: {error:#}");
            ExitCode::from(FAILED)
        }
    }
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    let kind = error.root_cause().downcast_ref::<io::Error>().map(io::Error::kind);
    kind == Some(io::ErrorKind::BrokenPipe)
}
