//! `whyoom attach`: a PyTorch process that already runs.

mod answer;
mod document;
mod folder;
pub(crate) mod helper;
mod known;
mod output;
mod protocol;
mod script;
mod shared_folder;
mod signals;
mod visit;

use anyhow::{Result, anyhow};
use whyoom_attach::{AttachError, Interpreter, Target};
use whyoom_redact::visible;

use self::{answer::State, signals::SignalState, visit::Visit};
use crate::{
    arguments::AttachArguments,
    exit_status::{ANSWERED, FAILED, INTERRUPTED, NOTHING_TO_SEE},
    terminal::say,
};

/// The exit code of the command.
pub(crate) fn run(arguments: &AttachArguments) -> Result<u8> {
    let target = Target::open(arguments.pid).map_err(|error| with_known(arguments.pid, error))?;
    let interpreter = match Interpreter::find(&target) {
        Ok(interpreter) => interpreter,
        Err(error @ AttachError::NotPython(_)) => {
            return Ok(nothing(arguments.pid, &error.to_string()));
        }
        Err(error) => return Err(error.into()),
    };
    say_before(arguments, &target);
    // Until here nothing was done to the process, and a signal ends whyoom.
    let signals = SignalState::start(arguments.pid)?;
    let visit = Visit { arguments, target: &target, signals: &signals };
    let found = visit.make(&interpreter)?;
    // Nothing is left in the process. From here a signal ends whyoom at once, also while it reads what the process chose.
    signals.restore_default();
    let Some(found) = found else {
        say("interrupted: nothing is left in the process");
        return Ok(INTERRUPTED);
    };
    if found.attached.look.state != State::Looked {
        return Ok(unseen(arguments.pid, &found.attached.look));
    }
    output::write(arguments, &found)?;
    Ok(ANSWERED)
}

/// What is about to happen to the process.
fn say_before(arguments: &AttachArguments, target: &Target) {
    let command = known::command(target.pid()).join(" ");
    let scan = match arguments.no_referrers {
        true => "",
        false => "; the scan for referrers takes two seconds at most there (--no-referrers: none)",
    };
    let contained = if target.is_contained() { ", in a container" } else { "" };
    say(&format!("attaching to process {} ({}){contained}{scan}", target.pid(), visible(&command)));
}

/// Where nothing can be looked at.
fn unseen(pid: u32, look: &answer::Look) -> u8 {
    match look.state {
        State::NoTorch => nothing(
            pid,
            &format!("process {pid} runs Python {} without PyTorch", visible(&look.python)),
        ),
        State::NoCuda => {
            let torch = look.torch.as_deref().unwrap_or("of an unknown version");
            let torch = visible(torch);
            nothing(pid, &format!("PyTorch {torch} in process {pid} has not used a GPU yet"))
        }
        State::Looked | State::Failed => {
            let why = look.error.as_deref().unwrap_or("no reason was given");
            say(&format!("PyTorch could not be asked in process {pid}: {}", visible(why)));
            FAILED
        }
    }
}

fn nothing(pid: u32, why: &str) -> u8 {
    say(&format!("{why}; {}", known::by_driver(pid)));
    NOTHING_TO_SEE
}

/// What stands in the way, and what is known without.
fn with_known(pid: u32, error: AttachError) -> anyhow::Error {
    match error {
        AttachError::NotPermitted { .. } | AttachError::OtherUser { .. } => {
            anyhow!("{error}; {}", known::by_driver(pid))
        }
        error => error.into(),
    }
}
