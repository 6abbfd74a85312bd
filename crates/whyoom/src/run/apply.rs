//! `--apply`: the program once more, with the setting that a replay of its first run has proved, or with
//! whyoom's own pool.

use std::{
    fs::File,
    io::{self, IsTerminal, Seek},
    os::{fd::AsFd, unix::process::ExitStatusExt},
    path::Path,
    process::ExitStatus,
};

use anyhow::Result;
use signal_hook::consts::{SIGABRT, SIGHUP, SIGINT, SIGKILL, SIGQUIT, SIGTERM};
use whyoom_allocators::{
    catalogue,
    policies::pytorch::{Merged, merge},
};
use whyoom_causes::{Finding, Proof, Remedy, Verdict};
use whyoom_lab_core::session::exit_code;
use whyoom_sources::recording::{Applied, Ending};

use super::{
    ending::{self, Concluded},
    execute::{execute, write_ending},
    folder,
    pool::Pool,
    recorder::Recorder,
    say,
};
use crate::{
    arguments::{PoolMode, RunArguments},
    own_recordings,
};

/// The allocator's variable: of its two names the one that overrides the other.
const VARIABLE: &str = "PYTORCH_CUDA_ALLOC_CONF";
const OTHER_VARIABLE: &str = "PYTORCH_ALLOC_CONF";

/// What a second run has that the first had not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Change {
    /// A setting of PyTorch's allocator.
    Setting(&'static str),
    /// whyoom's own pool.
    Pool,
}

impl Change {
    /// The change that a remedy makes, where a replay has proved it. The pool is the only one that is proved
    /// and no setting.
    fn proved_by(remedy: &Remedy) -> Option<(Self, Proof)> {
        let proof = remedy.proof.filter(Proof::holds)?;
        match remedy.setting {
            Some(setting) => Some((Self::Setting(setting), proof)),
            None => catalogue::find("stitch")
                .filter(|pool| remedy.paste.as_deref() == Some(pool.switch))
                .map(|_| (Self::Pool, proof)),
        }
    }

    /// As the allocator's variable has it, beside what is in it already.
    fn variable(self) -> Option<Merged> {
        let Self::Setting(setting) = self else { return None };
        let names = [VARIABLE, OTHER_VARIABLE];
        let conf = names.into_iter().find_map(|name| std::env::var(name).ok()).unwrap_or_default();
        // PyTorch took the variable in the first run, so it can be read.
        merge(&conf, setting).or_else(|_| merge("", setting)).ok()
    }

    fn pool(self, arguments: &RunArguments) -> Result<Option<Pool>> {
        match self {
            Self::Setting(_) => Ok(None),
            Self::Pool => Pool::prepare(arguments, PoolMode::Torch).map(Some),
        }
    }
}

/// Runs the program again where that is of use; the exit code of the last run comes back.
pub(super) fn rerun(
    arguments: &RunArguments,
    first: &Recorder,
    status: ExitStatus,
    concluded: Option<&Concluded>,
) -> Result<u8> {
    let prepared = proved(status, concluded).map_err(str::to_owned).and_then(|(change, proof)| {
        let pool = change.pool(arguments).map_err(|error| format!("{error:#}"))?;
        Ok((change, pool, proof))
    });
    let (change, pool, proof) = match prepared {
        Ok(prepared) => prepared,
        Err(why) => {
            // Where nothing was recorded, that was said.
            if !arguments.quiet && concluded.is_some() {
                say(&format!("--apply: no rerun: {why}"));
            }
            return Ok(exit_code(status));
        }
    };
    let merged = change.variable();
    let conf = merged.as_ref().map(|merged| merged.conf.to_string());
    let what = merged.as_ref().map_or("--pool".to_owned(), in_words);
    let Proof { peak, capacity, .. } = proof;
    say(&format!("--apply: rerun with {what} (replayed: at most {peak} of {capacity})"));
    let recorder = folder::beside(&first.folder.path).map(|folder| first.with_folder(folder));
    let recorder = recorder
        .inspect_err(|error| say(&format!("{error:#}; the second run is not recorded")))
        .ok();
    let recorder = recorder.map(|it| if pool.is_some() { it.under_pool() } else { it });
    let setting = conf.as_deref().map(|conf| (VARIABLE, conf));
    let status = match execute(&arguments.command, recorder.as_ref(), pool.as_ref(), setting) {
        Ok(status) => status,
        Err(code) => return Ok(code),
    };
    let concluded = recorder.and_then(|recorder| {
        let concluded = ending::conclude(arguments, &recorder.folder);
        let concluded = concluded
            .inspect_err(|error| say(&format!("no verdict from the second recording: {error:#}")));
        concluded.ok().flatten()
    });
    let ran_out_again = concluded.map(|concluded| concluded.ran_out);
    say(&told(&what, status, ran_out_again));
    note(&first.folder.held_path(), change, status, ran_out_again);
    Ok(exit_code(status))
}

/// Returns the variable as it is set, and what had to be left out of it.
fn in_words(merged: &Merged) -> String {
    let left_out =
        merged.left_out.iter().map(|(option, why)| format!(", without {}, {why}", option.key));
    format!("{VARIABLE}={}{}", merged.conf, left_out.collect::<String>())
}

/// What became of the second run, in words.
fn told(what: &str, status: ExitStatus, ran_out: Option<bool>) -> String {
    match (status.success(), ran_out) {
        (true, Some(false) | None) => format!("--apply: the program succeeded with {what}"),
        (true, Some(true)) => {
            format!("--apply: the program succeeded with {what}, but memory ran out during the run")
        }
        (false, Some(true)) => format!("--apply: {what} did not help: memory ran out again"),
        (false, Some(false)) => {
            format!(
                "--apply: with {what} memory did not run out, but the program failed ({status})"
            )
        }
        (false, None) => format!("--apply: with {what} the program also failed ({status})"),
    }
}

/// Keeps beside the first recording what the second run showed of the change: nothing where it tells nothing.
fn note(folder: &Path, change: Change, status: ExitStatus, ran_out: Option<bool>) {
    let succeeded = match (status.success(), ran_out) {
        (true, Some(false)) => true,
        (false, Some(true)) => false,
        _ => return,
    };
    // Only what this process registered itself is registered again.
    let Some(registered) = own_recordings::read_registered(folder) else { return };
    let Some(ending) = Ending::read(&registered) else { return };
    let setting = match change {
        Change::Setting(setting) => Some(setting.to_owned()),
        Change::Pool => None,
    };
    let applied = Some(Applied { setting, succeeded });
    write_ending(&Ending { applied, ..ending }, folder);
}

/// The change that was proved to make the run fit; else why there is none, in words.
fn proved(
    status: ExitStatus,
    concluded: Option<&Concluded>,
) -> Result<(Change, Proof), &'static str> {
    let Some(concluded) = concluded.filter(|concluded| concluded.ran_out) else {
        return Err("memory did not run out");
    };
    if status.success() {
        return Err("memory ran out, but the program continued and exited successfully");
    }
    if was_stopped(status) {
        return Err("it was stopped by a signal");
    }
    let verdict = &concluded.verdict;
    let findings = std::iter::once(&verdict.primary).chain(&verdict.contributing);
    let remedies = findings.flat_map(|finding: &Finding| &finding.remedies);
    let found = remedies
        .filter_map(Change::proved_by)
        .min_by_key(|(_, proof)| proof.peak)
        .ok_or_else(|| unproved(verdict))?;
    if !input_is_whole() {
        return Err("its standard input is consumed and cannot be replayed");
    }
    Ok(found)
}

/// Why nothing of a verdict may be applied.
fn unproved(verdict: &Verdict) -> &'static str {
    let findings = std::iter::once(&verdict.primary).chain(&verdict.contributing);
    let mut remedies = findings.flat_map(|finding| &finding.remedies);
    match remedies.any(|remedy| remedy.proof.is_some()) {
        true => {
            "the setting passes the failed request in a replay, but is not proven to hold for \
             entire iterations"
        }
        false => "no allocator setting was proven to make this run fit",
    }
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
    use whyoom_causes::Level;
    use whyoom_trace::Bytes;

    use super::*;

    #[test]
    fn only_what_was_proved_is_applied() {
        let level = Level::WholeIterations(2);
        let proof = Proof { peak: Bytes(1), capacity: Bytes(2), level };
        let by_setting = Remedy::line("export X", "").by_setting("expandable_segments:True");
        assert_eq!(Change::proved_by(&by_setting), None);
        let by_setting = Remedy { proof: Some(proof), ..by_setting };
        let change = Change::Setting("expandable_segments:True");
        assert_eq!(Change::proved_by(&by_setting), Some((change, proof)));
        let this_request = Proof { level: Level::ThisRequest, ..proof };
        let not_yet = Remedy { proof: Some(this_request), ..by_setting };
        assert_eq!(Change::proved_by(&not_yet), None, "more may follow");
        let pool = catalogue::find("stitch").expect("the pool's policy");
        let by_pool = Remedy { proof: Some(proof), ..Remedy::line(pool.switch, "") };
        assert_eq!(Change::proved_by(&by_pool), Some((Change::Pool, proof)));
        let by_hand = Remedy { proof: Some(proof), ..Remedy::line("batch = 8", "") };
        assert_eq!(Change::proved_by(&by_hand), None);
    }

    #[test]
    fn who_was_stopped_is_not_run_again() {
        let (signalled, exited) = (ExitStatus::from_raw, |code| ExitStatus::from_raw(code << 8));
        assert!(was_stopped(signalled(SIGINT)) && was_stopped(exited(130)));
        assert!(was_stopped(signalled(SIGTERM)) && was_stopped(exited(143)));
        assert!(!was_stopped(signalled(SIGABRT)) && !was_stopped(exited(134)));
        assert!(!was_stopped(exited(1)) && !was_stopped(exited(255)));
    }
}
