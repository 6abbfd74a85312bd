//! docs/verdicts.md: one real answer for each cause, as a person reads it.

use std::{fmt::Write as _, fs, process::Command};

use anyhow::{Result, ensure};

use super::{Scored, stage::Stage};
use crate::tools::{cache, root, scratch};

const PAGE: &str = "docs/verdicts.md";

const HEAD: &str = "\
# What the answers look like

One real answer for each cause, from the cases of [the examination](score.md): the first line is the answer,
the second the numbers that show it, the third what to paste. Written by `cargo xtask score --bless`.
";

/// Writes the page, of the first case of each cause that was judged right.
pub(super) fn write(stage: &Stage, scored: &[Scored]) -> Result<()> {
    let mut page = HEAD.to_owned();
    for cause in whyoom_causes::CATALOGUE {
        let fits = |one: &&Scored| one.case.cause == cause.id && one.is_right() && !one.case.who;
        let Some(one) = scored.iter().find(fits) else { continue };
        writeln!(
            page,
            "\n## {}\n\n{}\n\n```text\n{}```",
            cause.id,
            one.case.story,
            said(stage, one)?
        )?;
    }
    Ok(fs::write(root().join(PAGE), page)?)
}

/// What the command says of a case, to people.
pub(super) fn said(stage: &Stage, one: &Scored) -> Result<String> {
    let judged = one.tried.as_ref().map(|tried| tried.judged.as_slice()).unwrap_or_default();
    let mut why = Command::new(stage.whyoom());
    why.arg("why").args(judged).env("COLUMNS", "100").env("NO_COLOR", "1");
    let output = why.output()?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    // Folders of the machine that it was made on tell nobody anything.
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let folders = [scratch("score")?, cache(), root()];
    let text =
        folders.iter().fold(text, |text, folder| text.replace(&folder.display().to_string(), "…"));
    Ok(text.lines().map(|line| format!("{}\n", line.trim_end())).collect())
}
