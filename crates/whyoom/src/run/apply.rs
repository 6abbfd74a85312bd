//! `--apply`: the program once more, with the setting that a replay of its first run has proved.

use std::{
    fs::File,
    io::{self, IsTerminal, Seek},
    os::{fd::AsFd, unix::process::ExitStatusExt},
    process::ExitStatus,
};

use anyhow::Result;
use signal_hook::consts::{SIGABRT, SIGHUP, SIGINT, SIGKILL, SIGQUIT, SIGTERM};
use whyoom_allocators::policies::pytorch::with_option;
use whyoom_causes::{Finding, Proof, Remedy};
use whyoom_lab_core::session::exit_code;

use super::{
    ending::{self, Concluded},
    execute, folder,
    recorder::Recorder,
    say,
};
use crate::arguments::RunArguments;

/// The allocator's variable: of its two names the one that overrides the other.
const VARIABLE: &str = "PYTORCH_CUDA_ALLOC_CONF";
const OTHER_VARIABLE: &str = "PYTORCH_ALLOC_CONF";

/// Runs the program again where that is of use; the exit code of the last run comes back.
pub(super) fn rerun(
    arguments: &RunArguments,
    first: &Recorder,
    status: ExitStatus,
    concluded: Option<&Concluded>,
) -> Result<u8> {
    let (setting, proof) = match proved(status, concluded) {
        Ok(found) => found,
        Err(why) => {
            if !arguments.quiet {
                say(&format!("--apply: not run again: {why}"));
            }
            return Ok(exit_code(status));
        }
    };
    let conf = [VARIABLE, OTHER_VARIABLE].into_iter().find_map(|name| std::env::var(name).ok());
    let conf = with_option(&conf.unwrap_or_default(), setting);
    say(&format!(
        "--apply: once more with {VARIABLE}={conf} (replayed: at most {} of {})",
        proof.peak, proof.capacity
    ));
    let recorder = folder::beside(&first.folder).map(|folder| first.with_folder(folder));
    let recorder =
        recorder.inspect_err(|error| say(&format!("{error:#}; the second run is unrecorded"))).ok();
    let status = match execute(&arguments.command, recorder.as_ref(), Some((VARIABLE, &conf))) {
        Ok(status) => status,
        Err(code) => return Ok(code),
    };
    if let Some(recorder) = recorder
        && let Err(error) = ending::conclude(arguments, &recorder.folder)
    {
        say(&format!("the second recording gives no verdict: {error:#}"));
    }
    Ok(exit_code(status))
}

/// The setting that was proved to make the run fit; else why there is none, in words.
fn proved(
    status: ExitStatus,
    concluded: Option<&Concluded>,
) -> Result<(&'static str, Proof), &'static str> {
    let Some(concluded) = concluded.filter(|concluded| concluded.ran_out) else {
        return Err("memory did not run out");
    };
    if status.success() {
        return Err("memory ran out, but the program went on and ended well");
    }
    if was_stopped(status) {
        return Err("it was stopped by a signal");
    }
    let verdict = &concluded.verdict;
    let findings = std::iter::once(&verdict.primary).chain(&verdict.contributing);
    let remedies = findings.flat_map(|finding: &Finding| &finding.remedies);
    let proved = |remedy: &Remedy| Some((remedy.setting?, remedy.proof?));
    let found = remedies
        .filter_map(proved)
        .min_by_key(|(_, proof)| proof.peak)
        .ok_or("no allocator setting was proved to make this run fit")?;
    if !input_is_whole() {
        return Err("its standard input is used up and cannot be given to it again");
    }
    Ok(found)
}

/// Whether a signal ended it, or what a shell says for one that somebody sends: who stopped it does not
/// want it again. It is otherwise with an abort: so ends a program that does not catch its exception.
fn was_stopped(status: ExitStatus) -> bool {
    let told = |signal: i32| status.code() == Some(128 + signal);
    status.signal().is_some_and(|signal| signal != SIGABRT)
        || [SIGHUP, SIGINT, SIGQUIT, SIGKILL, SIGTERM].into_iter().any(told)
}

/// Whether a second run finds the standard input that the first one found: a terminal, nothing
/// (`/dev/null` is always at its start), or a file that was not read.
fn input_is_whole() -> bool {
    let position = || {
        let input = io::stdin().as_fd().try_clone_to_owned()?;
        File::from(input).stream_position()
    };
    io::stdin().is_terminal() || position().is_ok_and(|position| position == 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_was_stopped_is_not_run_again() {
        let (signalled, exited) = (ExitStatus::from_raw, |code| ExitStatus::from_raw(code << 8));
        assert!(was_stopped(signalled(SIGINT)) && was_stopped(exited(130)));
        assert!(was_stopped(signalled(SIGTERM)) && was_stopped(exited(143)));
        assert!(!was_stopped(signalled(SIGABRT)) && !was_stopped(exited(134)));
        assert!(!was_stopped(exited(1)) && !was_stopped(exited(255)));
    }
}
