//! `whyoom why`.

use std::{
    ffi::OsStr,
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
    newest,
    reading::Reading,
    report, sarif,
    terminal::{say, width},
    unopened::is_text,
    whole_file::may_write_beside,
};

/// Places that are listed where nobody says how many.
const PLACES: usize = 20;

/// Maximum number of letters of a file's extension. Chosen, not measured.
const LONGEST_EXTENSION: usize = 8;

pub(crate) fn run(arguments: &WhyArguments) -> Result<()> {
    may_write_beside(&arguments.report, arguments.force)?;
    may_write_beside(&arguments.sarif, arguments.force)?;
    let (mut files, live) = asked_for(arguments);
    if files.is_empty() {
        files.push(newest::for_why());
    }
    print(arguments, (&files, live), &verbose_command(&files))
}

/// Returns the command that prints all of these inputs' verdict.
pub(crate) fn verbose_command(files: &[impl AsRef<Path>]) -> String {
    let typed = files.iter().map(AsRef::as_ref).map(|file| {
        // A text of several lines is given once more.
        let file = file.to_string_lossy();
        if file.contains('\n') { " -".to_owned() } else { format!(" {}", for_shell(&file)) }
    });
    format!("whyoom why --verbose{}", typed.collect::<String>())
}

/// Prints the verdict on files, with `live` places; what the short form leaves out is printed by `verbose_command`.
pub(crate) fn print(
    arguments: &WhyArguments,
    (files, live): (&[PathBuf], Option<usize>),
    verbose_command: &str,
) -> Result<()> {
    let mut reading = Reading::new(arguments.report.is_some());
    if arguments.no_symbols {
        reading.leave_frames_nameless();
    }
    for file in files {
        match text_in(file) {
            Some(text) => reading.add_text(text)?,
            None => reading.add(file)?,
        }
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

/// Returns the files that are named, and how many live places are asked for. A word after `--live` that is no number
/// is a file.
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
    (files, live)
}

/// Returns the text of a message that was typed in place of a file's name. `None` if it may be a name.
fn text_in(file: &Path) -> Option<&str> {
    file.to_str().filter(|_| is_text(file) && !is_file_name(file) && !file.exists())
}

/// Returns true if a name ends as files do, such as `the log of my run.txt`. An amount such as `2.00` does not.
fn is_file_name(name: &Path) -> bool {
    let extension = name.extension().and_then(OsStr::to_str).unwrap_or_default();
    let has_letters = extension.chars().any(char::is_alphabetic);
    has_letters
        && extension.len() <= LONGEST_EXTENSION
        && extension.chars().all(char::is_alphanumeric)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_told_from_a_file_name() {
        let is_message = |text| text_in(Path::new(text)).is_some();
        assert!(is_message("CUDA out of memory. Tried to allocate 2.00 GiB"));
        assert!(is_message("RuntimeError: CUDA out of memory.\nat step 2.00"));
        for name in ["ok.pikle", "the log of my run.txt", "two words"] {
            assert!(!is_message(name), "{name}");
        }
    }

    #[test]
    fn a_text_of_standard_input_is_read_again_from_there() {
        assert_eq!(verbose_command(&["-"]), "whyoom why --verbose -");
        assert_eq!(verbose_command(&["a b.log", "x"]), "whyoom why --verbose 'a b.log' x");
        assert_eq!(verbose_command(&["one\ntwo"]), "whyoom why --verbose -");
    }
}
