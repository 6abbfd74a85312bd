//! `whyoom why`.

use std::{
    io::{self, Write},
    path::PathBuf,
};

use anyhow::Result;
use whyoom_report::{VerdictParts, write_live, write_verdict, write_verdict_json};

use crate::{
    arguments::WhyArguments,
    reading::Reading,
    report,
    terminal::{say, width},
};

/// Places that are listed where nobody says how many.
const PLACES: usize = 20;

pub(crate) fn run(arguments: &WhyArguments) -> Result<()> {
    let (files, live) = asked_for(arguments);
    let mut reading = Reading::new(arguments.report.is_some());
    for file in &files {
        reading.add(file)?;
    }
    let verdict = reading.judge()?;
    let answer = reading.answer(&verdict);
    let parts = VerdictParts { live: live.is_some(), timeline: arguments.timeline };
    let mut out = io::BufWriter::new(anstream::stdout().lock());
    match live {
        _ if arguments.json => write_verdict_json(&answer, parts, &mut out)?,
        Some(places) => {
            write_verdict(&answer, width(), &mut out)?;
            write_live(&answer, places, &mut out)?;
        }
        None => write_verdict(&answer, width(), &mut out)?,
    }
    out.flush()?;
    drop(out);
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
