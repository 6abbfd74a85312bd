//! What to do: one fix, and the few that may stand in its place.

use std::io::{self, Write};

use whyoom_causes::{Finding, Level, Proof, Remedy};
use whyoom_redact::terminal::wrap;

use super::{detail::Detail, wording::printable};
use crate::style::{self, styled};

/// Remedies beyond these are left to `--verbose`.
const LISTED: usize = 3;
/// What stands before the first and before the others.
const FIX: &str = "fix:";
const NEXT: &str = "next:";
const OR: &str = " or:";

pub(super) fn write(
    finding: &Finding,
    detail: Detail,
    width: usize,
    out: &mut dyn Write,
) -> io::Result<()> {
    let most = if detail == Detail::Short { LISTED } else { usize::MAX };
    // Where the cause is not known, the first thing to do is to find out.
    let first = if finding.cause == "unknown" { NEXT } else { FIX };
    for (index, remedy) in finding.remedies.iter().take(most).enumerate() {
        let label = if index == 0 { first } else { OR };
        write_one(remedy, label, width, out)?;
    }
    Ok(())
}

fn write_one(remedy: &Remedy, label: &str, width: usize, out: &mut dyn Write) -> io::Result<()> {
    let words = remedy.what.strip_prefix("or ").unwrap_or(&remedy.what);
    let what = format!("{words}{}", frees(remedy));
    let shown = styled(style::FIX, label);
    let below = &" ".repeat(label.len() + 1);
    match (remedy.paste.as_deref(), remedy.example.as_deref()) {
        (Some(line), _) => {
            writeln!(out, "{shown} {}", styled(style::PASTE, printable(line)))?;
            writeln!(out, "{}", wrap(&what, width, below))?;
        }
        (None, example) => {
            let words = wrap(&what, width, below);
            writeln!(out, "{shown} {}", words.trim_start())?;
            example.map_or(Ok(()), |example| write_example(example, below, out))?;
        }
    }
    let proof = proof(remedy);
    proof.map_or(Ok(()), |proof| writeln!(out, "{}", wrap(&proof, width, below)))
}

/// Code in the names of the person's own program: to adapt, not to paste.
fn write_example(example: &str, below: &str, out: &mut dyn Write) -> io::Result<()> {
    let mut lines = example.lines().map(|line| styled(style::PASTE, printable(line)));
    match (example.lines().count(), lines.next()) {
        (1, Some(line)) => writeln!(out, "{below}for example: {line}"),
        (_, Some(first)) => {
            writeln!(out, "{below}for example:\n{below}  {first}")?;
            lines.try_for_each(|line| writeln!(out, "{below}  {line}"))
        }
        (_, None) => Ok(()),
    }
}

fn frees(remedy: &Remedy) -> String {
    remedy.frees.map_or(String::new(), |frees| format!(" (frees up to {frees})"))
}

/// What a replay of the run says of a remedy that a replay can prove.
fn proof(remedy: &Remedy) -> Option<String> {
    let Some(Proof { peak, capacity, level }) = remedy.proof else {
        return remedy.setting.map(|_| "not proven for this run".to_owned());
    };
    Some(match level {
        Level::WholeIterations(count) => {
            format!("proven by replay: at most {peak} of {capacity} over {count} entire iterations")
        }
        Level::Ran => "proven: --apply ran the program with it, and it succeeded".to_owned(),
        Level::ThisRequest => format!(
            "replay: this request fits (at most {peak} of {capacity}); more may follow, so it is not \
             proven"
        ),
    })
}
