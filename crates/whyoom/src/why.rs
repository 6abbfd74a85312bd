//! `whyoom why`.

use std::{
    io::{self, Write},
    path::PathBuf,
};

use anyhow::Result;
use whyoom_report::{write_live, write_verdict, write_verdict_json};

use crate::{arguments::WhyArguments, reading::Reading, terminal::width};

/// Places that are listed where nobody says how many.
const PLACES: usize = 20;

pub(crate) fn run(arguments: &WhyArguments) -> Result<()> {
    let (files, live) = asked_for(arguments);
    let mut reading = Reading::default();
    for file in &files {
        reading.add(file)?;
    }
    let verdict = reading.judge()?;
    let answer = reading.answer(&verdict);
    let mut out = io::BufWriter::new(anstream::stdout().lock());
    match live {
        _ if arguments.json => write_verdict_json(&answer, live.is_some(), &mut out)?,
        Some(places) => {
            write_verdict(&answer, width(), &mut out)?;
            write_live(&answer, places, &mut out)?;
        }
        None => write_verdict(&answer, width(), &mut out)?,
    }
    out.flush()?;
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
