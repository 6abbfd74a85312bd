//! `whyoom diff`: two runs, and why one needs more memory.

mod condition;
mod inputs;
mod saved;

use std::{
    io::{self, Write},
    path::Path,
};

use anyhow::{Result, ensure};
use whyoom_diff::{Comparison, compare};
use whyoom_reading::RunProfile;
use whyoom_report::{DiffCondition, DiffPage, write_diff, write_diff_html, write_diff_json};

pub(crate) use self::{condition::Condition, saved::SavedProfile};
use crate::{
    arguments::DiffArguments,
    exit_status::{ANSWERED, FAILS_IF},
    report::{SIMULATED, local_paths, write_page},
    source::Frames,
    terminal::{say, width},
    whole_file::may_write_beside,
};

/// The exit code of the command.
pub(crate) fn run(arguments: &DiffArguments) -> Result<u8> {
    may_write_beside(&arguments.report, arguments.force)?;
    let frames = if arguments.no_symbols { Frames::Nameless } else { Frames::Named };
    let [a, b] = [inputs::read(&arguments.a, frames)?, inputs::read(&arguments.b, frames)?];
    for (run, path) in [(&a, &arguments.a), (&b, &arguments.b)] {
        ensure!(
            !run.profile.ranks.is_empty(),
            "{} contains no memory of a GPU: record the run with whyoom run, or name a PyTorch snapshot",
            path.display()
        );
    }
    let comparison = compare(&a.profile, &b.profile);
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
    a.notes.iter().chain(&b.notes).for_each(|note| say(&format!("note: {note}")));
    if let Some(path) = &arguments.report {
        say(&write_report(arguments, &comparison, &conditions, [&a, &b], path)?);
    }
    Ok(if conditions.iter().any(|condition| condition.holds) { FAILS_IF } else { ANSWERED })
}

/// Writes the page; what to tell the person comes back.
fn write_report(
    arguments: &DiffArguments,
    comparison: &Comparison,
    conditions: &[DiffCondition],
    runs: [&RunProfile; 2],
    path: &Path,
) -> Result<String> {
    let folders = [&arguments.a, &arguments.b].into_iter().filter_map(|input| input.parent());
    let page = DiffPage {
        comparison,
        conditions,
        timelines: runs.map(|run| run.timelines.as_slice()),
        simulated: runs.iter().any(|run| run.simulated).then(|| SIMULATED.to_owned()),
        paths: local_paths(folders),
    };
    write_page(path, &page.contents(), |out| write_diff_html(&page, out))
}
