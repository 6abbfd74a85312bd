//! What is said when the program has ended.

use std::{
    fs::File,
    io::{self, Write},
    path::{Path, PathBuf},
};

use anyhow::{Context, Result};
use whyoom_causes::{Strength, Verdict, for_shell};
use whyoom_recording::PartInfo;
use whyoom_report::{
    CaughtFailures, Detail, VerdictParts, write_caught, write_verbose_hint, write_verdict,
    write_verdict_json,
};
use whyoom_sources::recording::{Ending, has_recorded};
use whyoom_trace::{Bytes, DeviceId};

use super::{flight, folder::RunFolder, keepers, say, termination, unrecorded::Circumstances};
use crate::{
    arguments::RunArguments, beside::snapshots, reading::Reading, report, terminal::error_width,
    why::verbose_command,
};

/// The signal that nothing can catch.
const KILL: i32 = 9;
/// What a note says of a process that could not go on recording.
const STOPPED: &str = "stopped recording";

/// What a run was judged to be.
pub(super) struct Concluded {
    pub(super) verdict: Verdict,
    /// Whether memory ran out.
    pub(super) ran_out: bool,
}

/// Says how the run was: the verdict where something is wrong, a line where nothing is.
pub(super) fn conclude(
    arguments: &RunArguments,
    run_folder: &RunFolder,
) -> Result<Option<Concluded>> {
    let folder: &Path = &run_folder.path;
    if !has_recorded(folder) {
        let ending = Ending::read(folder);
        let status = ending.as_ref().and_then(|ending| ending.status);
        let killed = ending.is_some_and(|ending| ending.signal == Some(KILL));
        let circumstances = Circumstances::look(&arguments.command, status, folder);
        // A folder that was asked for stays: it tells how the command ended.
        if arguments.output.is_none() {
            run_folder.discard_empty();
        }
        if killed {
            say("signal 9 killed the program before it used CUDA");
        } else if !arguments.quiet {
            say(&format!("nothing was recorded: {}", circumstances.words()));
        }
        return Ok(None);
    }
    let ending = Ending::read(folder).unwrap_or_default();
    let mut reading = Reading::new(arguments.report.is_some());
    reading.add(&shown(folder))?;
    let verdict = reading.judge()?;
    if let Some(path) = &arguments.json {
        // The verdict is told all the same.
        let _ =
            write_json(&reading, &verdict, path).inspect_err(|error| say(&format!("{error:#}")));
    }
    let ran_out = !reading.inquiry.model.incidents().is_empty();
    if let Some(caught) = reading.answer(&verdict).caught {
        let _ = show_caught(&reading, &verdict, caught);
        say(&kept(reading.recorded_events, Some(folder)));
    } else if ran_out || is_wrong(&verdict, &ending) {
        // Where it cannot be written, it is no less true.
        let _ = show(&reading, &verdict, folder);
        let _ = leave_for_pod(&reading, &verdict);
    } else {
        let dropped = is_not_worth_keeping(arguments, &ending, folder, &reading);
        if !arguments.quiet {
            say_healthy(arguments, &reading, &ending, (!dropped).then_some(folder));
        }
        if dropped {
            flight::discard(run_folder);
        }
    }
    say_unanswered(arguments, folder);
    if let Some(path) = &arguments.report {
        let told = report::write(&mut reading, &verdict, path);
        say(&told.unwrap_or_else(|error| format!("{error:#}")));
    }
    let cleared = ending.killed_for_memory == Some(0) && ending.killed_in_group.unwrap_or(0) == 0;
    if ending.signal == Some(KILL) && cleared {
        say("it was killed by signal 9, but not by the kernel's OOM killer");
    }
    Ok(Some(Concluded { verdict, ran_out }))
}

/// Whether there is something to tell though memory did not run out. What is left behind by a program
/// that failed is not why it failed.
fn is_wrong(verdict: &Verdict, ending: &Ending) -> bool {
    let primary = &verdict.primary;
    let left_by_failure = primary.cause == "leak-at-exit" && ending.status != Some(0);
    primary.strength > Strength::Fallback && primary.cause != "healthy" && !left_by_failure
}

fn show(reading: &Reading, verdict: &Verdict, folder: &Path) -> io::Result<()> {
    let mut out = io::BufWriter::new(anstream::stderr().lock());
    writeln!(out)?;
    let answer = reading.answer(verdict);
    write_verdict(&answer, Detail::Short, error_width(), &mut out)?;
    let folder = shown(folder);
    write_verbose_hint(&answer, &verbose_command(&[&folder]), &mut out)?;
    // A name of its own: the report of the run before stays.
    let folder = folder.to_string_lossy();
    let page = for_shell(&format!("{folder}.html"));
    writeln!(out, "In a browser: whyoom report {} -o {page}", for_shell(&folder))?;
    out.flush()
}

fn show_caught(reading: &Reading, verdict: &Verdict, caught: CaughtFailures) -> io::Result<()> {
    let mut out = io::BufWriter::new(anstream::stderr().lock());
    write_caught(&reading.answer(verdict), caught, error_width(), &mut out)?;
    out.flush()
}

/// Where Kubernetes shows a message of a container that has ended, it is the verdict.
fn leave_for_pod(reading: &Reading, verdict: &Verdict) -> io::Result<()> {
    let mut text = anstream::StripStream::new(Vec::new());
    write_verdict(&reading.answer(verdict), Detail::Short, termination::WIDTH, &mut text)?;
    termination::leave(&String::from_utf8_lossy(&text.into_inner()))
}

fn write_json(reading: &Reading, verdict: &Verdict, path: &Path) -> Result<()> {
    let file = File::create(path).with_context(|| format!("cannot write {}", path.display()))?;
    let mut out = io::BufWriter::new(file);
    write_verdict_json(&reading.answer(verdict), VerdictParts::default(), &mut out)?;
    Ok(out.flush()?)
}

/// Whether a recording is dropped: that of a flight which ended well, tells of nothing else and still is not written.
fn is_not_worth_keeping(
    arguments: &RunArguments,
    ending: &Ending,
    folder: &Path,
    reading: &Reading,
) -> bool {
    let is_asked_for = arguments.output.is_some() || arguments.torch_history || arguments.keepers;
    let goes_on = || {
        let recording = whyoom_recording::Recording::open(folder);
        let runs = |part: &PartInfo| part.ending == whyoom_recording::Ending::Running;
        recording.is_ok_and(|recording| recording.parts().iter().any(runs))
    };
    flight::is_asked_for(arguments)
        && !is_asked_for
        && ending.status == Some(0)
        && reading.notes().next().is_none()
        && !has_kept(reading)
        && !goes_on()
}

/// Whether a process kept more and more until it exited: whoever knows the program knows whether that is well.
fn has_kept(reading: &Reading) -> bool {
    let model = &reading.inquiry.model;
    model.spaces().any(|(process, device, _)| model.kept_until_exit(process, device).is_some())
}

/// Says that nothing is wrong, and where the recording is, if it is kept.
fn say_healthy(
    arguments: &RunArguments,
    reading: &Reading,
    ending: &Ending,
    folder: Option<&Path>,
) {
    let on_device =
        reading.inquiry.model.spaces().filter(|(_, device, _)| *device != DeviceId::HOST);
    let peaks = on_device.map(|(_, _, space)| (space.peak().0.allocated, space.peak_reserved()));
    let (allocated, reserved) = peaks.max().unwrap_or_default();
    // What the recording would tell, where it may not be kept.
    let is_flight = flight::is_asked_for(arguments);
    let of = if is_flight { flight::peak_in_words(reading) } else { String::new() };
    let peak = match (allocated, reserved) {
        (Bytes::ZERO, _) => String::new(),
        (allocated, reserved) if reserved == Bytes::ZERO || reserved == allocated => {
            format!(": peak {allocated}{of}")
        }
        (allocated, reserved) => format!(": peak {allocated} in {reserved} reserved{of}"),
    };
    let events = reading.recorded_events;
    let notes: Vec<&str> = reading.notes().collect();
    let stopped = notes.iter().any(|note| note.contains(STOPPED));
    let word = match ending.status {
        _ if stopped => "memory did not run out in the recorded part",
        Some(0) if has_kept(reading) => {
            "nothing failed, but more and more was kept until it exited"
        }
        Some(0) => "nothing is wrong",
        _ => "memory did not run out",
    };
    match events {
        0 => return say(&format!("nothing was recorded: {}", notes.join(" "))),
        _ => say(&format!("{word}{peak}; {}", kept(events, folder))),
    }
    if !notes.is_empty() {
        say(&notes.join(" "));
    }
}

/// What was recorded, and where it is.
fn kept(events: u64, folder: Option<&Path>) -> String {
    let Some(folder) = folder else {
        return format!("recorded {events} events and kept none (-o FOLDER keeps the last)");
    };
    let folder = for_shell(&shown(folder).to_string_lossy());
    format!("recorded {events} events in {folder} (whyoom why {folder})")
}

/// What was asked of Python, and not answered.
fn say_unanswered(arguments: &RunArguments, folder: &Path) {
    let unanswered = [
        ("--torch-history", arguments.torch_history && snapshots(folder).is_empty()),
        ("--keepers", arguments.keepers && !keepers::has_told(folder)),
    ];
    for (option, _) in unanswered.into_iter().filter(|(_, unanswered)| *unanswered) {
        say(&format!("{option}: no Python process used PyTorch on a GPU and exited normally"));
    }
}

/// As a person would type it: from here, where it is here.
fn shown(folder: &Path) -> PathBuf {
    from(&std::env::current_dir().unwrap_or_default(), folder)
}

fn from(here: &Path, folder: &Path) -> PathBuf {
    let below = folder.strip_prefix(here).unwrap_or(folder);
    match below.as_os_str().as_encoded_bytes() {
        [] => PathBuf::from("."),
        // Not an option, nor standard input.
        [b'-', ..] => Path::new(".").join(below),
        _ => below.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_can_be_pasted() {
        let typed =
            |folder| for_shell(&from(Path::new("/home/me"), Path::new(folder)).to_string_lossy());
        assert_eq!(typed("/home/me/whyoom-run-1"), "whyoom-run-1");
        assert_eq!(typed("/home/me"), ".");
        assert_eq!(typed("/home/me/-"), "./-");
        assert_eq!(typed("/data/runs/a"), "/data/runs/a");
        assert_eq!(typed("/home/me/my runs/it's"), r"'my runs/it'\''s'");
    }
}
