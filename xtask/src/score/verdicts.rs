//! docs/dev/evidence/verdicts.md: one real answer for each cause, as a person reads it.

use std::{fmt::Write as _, fs, path::PathBuf, process::Command};

use anyhow::{Context, Result, ensure};
use harness::{Build, cache, root, scratch};

use super::row::Row;

const PAGE: &str = "docs/dev/evidence/verdicts.md";

const HEAD: &str = "\
# Example verdicts

One real verdict for each cause, from the cases of [the examination](score.md), 80 columns wide: the cause with its
number, the program's own lines, the fix, notes, and the evidence. Written by `cargo xtask score --bless`.
";

/// Writes the page, of the first case of each cause that was judged right.
pub(super) fn write(rows: &[Row]) -> Result<()> {
    let mut page = HEAD.to_owned();
    for cause in whyoom_causes::CATALOGUE {
        let fits = |one: &&Row| one.case.cause == cause.id && one.is_right() && !one.case.who;
        let Some(one) = rows.iter().find(fits) else { continue };
        writeln!(page, "\n## {}\n\n{}\n\n```text\n{}```", cause.id, one.case.story, said(one)?)?;
    }
    Ok(fs::write(root().join(PAGE), page)?)
}

/// What the command says of a case, to people.
pub(super) fn said(one: &Row) -> Result<String> {
    let scored = one.scored.as_ref().context("it could not be tried")?;
    let mut why = Command::new(Build::ready()?.whyoom());
    why.arg("why").args(&scored.judged).env("COLUMNS", "80").env("NO_COLOR", "1");
    let output = why.output()?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = without_folders(&String::from_utf8_lossy(&output.stdout))?;
    Ok(text.lines().map(|line| format!("{}\n", line.trim_end())).collect())
}

/// Folders of the machine that a page was made on tell nobody anything.
pub(super) fn without_folders(text: &str) -> Result<String> {
    let folders = [scratch("fresh/score")?, root(), cache()];
    let replaced =
        |text: String, folder: &PathBuf| text.replace(&folder.display().to_string(), "…");
    Ok(folders.iter().fold(text.to_owned(), replaced))
}
