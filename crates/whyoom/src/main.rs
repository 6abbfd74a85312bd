//! The command line: arguments in, calls out.

mod arguments;
mod causes;
mod progress;
mod why;

use std::{io, process::ExitCode};

use arguments::{Arguments, Command};
use clap::{CommandFactory, Parser};

/// The input could not be read, or the output not written. Wrong arguments end with 2.
const FAILED: u8 = 1;

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let outcome = match arguments.command {
        Command::Why(arguments) => why::run(&arguments),
        Command::Causes(arguments) => causes::run(&arguments),
        Command::Completions { shell } => {
            clap_complete::generate(shell, &mut Arguments::command(), "whyoom", &mut io::stdout());
            Ok(())
        }
        Command::Man => {
            let manual = clap_mangen::Man::new(Arguments::command());
            manual.render(&mut io::stdout()).map_err(Into::into)
        }
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
