//! `--apply`: the program once more, with the setting that a replay of its first run has proved.

use std::process::ExitStatus;

use anyhow::Result;
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
    let verdict = &concluded.verdict;
    let findings = std::iter::once(&verdict.primary).chain(&verdict.contributing);
    let remedies = findings.flat_map(|finding: &Finding| &finding.remedies);
    let proved = |remedy: &Remedy| Some((remedy.setting?, remedy.proof?));
    remedies
        .filter_map(proved)
        .min_by_key(|(_, proof)| proof.peak)
        .ok_or("no allocator setting was proved to make this run fit")
}
