//! Words that cannot be meant as they are typed.

use std::{path::Path, process::ExitCode};

use clap::{
    CommandFactory,
    error::{ContextKind, ContextValue, Error, ErrorKind},
};

use whyoom_redact::for_shell;
use whyoom_sources::recording::is_recording;

use crate::{
    arguments::Arguments,
    nearest::{did_you_mean, nearest},
    on_path::{find, is_executable},
    terminal::say,
};

/// Arguments that are wrong in a way that only shows when they are used.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct Misuse(pub(crate) String);

/// Says what is wrong with the arguments, as everything else is said; the exit code comes back.
pub(crate) fn tell(error: &Error) -> ExitCode {
    match first_word(error).as_deref().map(hint) {
        Some(hint) => say(&hint),
        None if error.use_stderr() => {
            let text = error.render().ansi().to_string();
            anstream::eprint!("{}", text.replacen("error:", "whyoom:", 1));
        }
        // Help, or the version, that was asked for.
        None => {
            let _ = error.print();
        }
    }
    u8::try_from(error.exit_code()).map_or(ExitCode::FAILURE, ExitCode::from)
}

/// What stands where a command is expected, and is none.
fn first_word(error: &Error) -> Option<String> {
    let first = typed().next();
    match error.get(ContextKind::InvalidSubcommand) {
        Some(ContextValue::String(word)) if error.kind() == ErrorKind::InvalidSubcommand => {
            first.filter(|first| first == word)
        }
        _ => None,
    }
}

/// What somebody wants who names a file or a program, and no command.
fn hint(word: &str) -> String {
    let path = Path::new(word);
    let program = Arguments::command();
    let names = || program.get_subcommands().map(clap::Command::get_name);
    let is_program = || find(word.as_ref()).is_some_and(|file| is_executable(&file));
    let before = if path.extension().is_some_and(|kind| kind == "py") {
        "run -- python "
    } else if is_recording(path) || (path.is_file() && !is_executable(path)) {
        "why "
    } else if nearest(word, names()).is_empty() && is_program() {
        "run -- "
    } else if word.contains(['.', '/']) {
        return format!("file '{word}' does not exist; to read a file: whyoom why FILE");
    } else {
        return format!("unknown command '{word}'{}", did_you_mean(word, names(), "whyoom --help"));
    };
    let typed: Vec<String> = typed().map(|word| for_shell(&word)).collect();
    format!("did you mean:  whyoom {before}{}", typed.join(" "))
}

/// The words behind the program's name, for people to read.
fn typed() -> impl Iterator<Item = String> {
    std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned())
}
