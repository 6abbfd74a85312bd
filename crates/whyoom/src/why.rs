//! `whyoom why`.

use std::{
    io::{self, Write},
    path::PathBuf,
};

use anyhow::Result;
use whyoom_report::{write_verdict, write_verdict_json};

use crate::{arguments::WhyArguments, reading::Reading, terminal::width};

pub(crate) fn run(arguments: &WhyArguments) -> Result<()> {
    let standard_input = [PathBuf::from("-")];
    let files = if arguments.files.is_empty() { &standard_input[..] } else { &arguments.files[..] };
    let mut reading = Reading::default();
    for file in files {
        reading.add(file)?;
    }
    let verdict = reading.judge()?;
    let answer = reading.answer(&verdict);
    let mut out = io::BufWriter::new(anstream::stdout().lock());
    if arguments.json {
        write_verdict_json(&answer, &mut out)?;
    } else {
        write_verdict(&answer, width(), &mut out)?;
    }
    out.flush()?;
    Ok(())
}
