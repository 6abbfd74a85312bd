//! `whyoom diff`: two runs, and why one needs more memory.

mod condition;
mod inputs;
mod saved;

use std::io::{self, Write};

use anyhow::{Result, ensure};
use whyoom_diff::compare;
use whyoom_report::{write_diff, write_diff_json};

pub(crate) use self::{condition::Condition, saved::SavedProfile};
use crate::{
    arguments::DiffArguments,
    exit_status::{ANSWERED, FAILS_IF},
    source::Frames,
    terminal::{say, width},
};

/// The exit code of the command.
pub(crate) fn run(arguments: &DiffArguments) -> Result<u8> {
    let frames = if arguments.no_symbols { Frames::Nameless } else { Frames::Named };
    let (a, notes) = inputs::read(&arguments.a, frames)?;
    let (b, others) = inputs::read(&arguments.b, frames)?;
    for (profile, path) in [(&a, &arguments.a), (&b, &arguments.b)] {
        ensure!(
            !profile.ranks.is_empty(),
            "{} contains no memory of a GPU: record the run with whyoom run, or name a PyTorch snapshot",
            path.display()
        );
    }
    let comparison = compare(&a, &b);
    let conditions: Vec<_> =
        arguments.fail_if.iter().map(|condition| condition.judge(&comparison)).collect();
    let mut out = io::BufWriter::new(anstream::stdout().lock());
    if arguments.json {
        write_diff_json(&comparison, &conditions, &mut out)?;
    } else {
        write_diff(&comparison, &conditions, width(), &mut out)?;
    }
    out.flush()?;
    drop(out);
    notes.iter().chain(&others).for_each(|note| say(&format!("note: {note}")));
    Ok(if conditions.iter().any(|condition| condition.holds) { FAILS_IF } else { ANSWERED })
}
