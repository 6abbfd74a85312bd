//! `whyoom why`.

use std::{
    io::{self, Write},
    path::{Path, PathBuf},
};

use anyhow::Result;
use whyoom_causes::for_shell;
use whyoom_report::{
    Detail, VerdictParts, write_live, write_verbose_hint, write_verdict, write_verdict_json,
    write_verdict_sarif,
};

use crate::{
    arguments::WhyArguments,
    reading::Reading,
    report, sarif,
    terminal::{say, width},
    whole_file::may_write_beside,
};

/// Places that are listed where nobody says how many.
const PLACES: usize = 20;

pub(crate) fn run(arguments: &WhyArguments) -> Result<()> {
    may_write_beside(&arguments.report, arguments.force)?;
    may_write_beside(&arguments.sarif, arguments.force)?;
    print(arguments, &verbose_command(&asked_for(arguments).0))
}

/// The command that prints all of these inputs' verdict.
pub(crate) fn verbose_command(files: &[impl AsRef<Path>]) -> String {
    let typed = files.iter().map(AsRef::as_ref).filter(|file| *file != Path::new("-"));
    let typed = typed.map(|file| format!(" {}", for_shell(&file.to_string_lossy())));
    format!("whyoom why --verbose{}", typed.collect::<String>())
}

/// Prints a verdict; what the short form leaves out is printed by `verbose_command`.
pub(crate) fn print(arguments: &WhyArguments, verbose_command: &str) -> Result<()> {
    let (files, live) = asked_for(arguments);
    let mut reading = Reading::new(arguments.report.is_some());
    if arguments.no_symbols {
        reading.leave_frames_nameless();
    }
    for file in &files {
        reading.add(file)?;
    }
    if let Some(machine) = &arguments.machine {
        reading.measure(machine);
    }
    let verdict = reading.judge()?;
    let answer = reading.answer(&verdict);
    let parts = VerdictParts { live: live.is_some(), timeline: arguments.timeline };
    let detail = if arguments.verbose { Detail::Verbose } else { Detail::Short };
    let mut out = io::BufWriter::new(anstream::stdout().lock());
    if arguments.json {
        write_verdict_json(&answer, parts, &mut out)?;
    } else {
        write_verdict(&answer, detail, width(), &mut out)?;
        if detail == Detail::Short {
            write_verbose_hint(&answer, verbose_command, &mut out)?;
        }
        live.map_or(Ok(()), |places| write_live(&answer, places, &mut out))?;
    }
    out.flush()?;
    drop(out);
    if let Some(path) = &arguments.sarif {
        sarif::write(path, |folders, out| write_verdict_sarif(&answer, folders, out))?;
    }
    if let Some(path) = &arguments.report {
        say(&report::write(&mut reading, &verdict, path)?);
    }
    Ok(())
}

/// The files, and how many live places. What stands behind `--live` and is no number is a file.
fn asked_for(arguments: &WhyArguments) -> (Vec<PathBuf>, Option<usize>) {
    let mut files = arguments.files.clone();
    let live = arguments.live.as_ref().map(|word| match word.as_deref().map(str::parse) {
        None => PLACES,
        Some(Ok(places)) => places,
        Some(Err(_)) => {
            files.extend(word.as_ref().map(PathBuf::from));
            PLACES
        }
    });
    if files.is_empty() {
        files.push(PathBuf::from("-"));
    }
    (files, live)
}
