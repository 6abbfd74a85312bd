//! `whyoom-fleet report`: what the cluster ran out of memory for, folded from the archive in one pass.

mod figures;
mod text;

use std::io::Write as _;

use anyhow::Result;
use whyoom_archive::Archive;

use self::figures::Figures;
use crate::cli::ReportWish;

pub(crate) fn run(wish: &ReportWish) -> Result<()> {
    let archive = Archive::open(&wish.archive)?;
    let is_wanted =
        |day| wish.from.is_none_or(|from| day >= from) && wish.to.is_none_or(|to| day <= to);
    let incidents = archive.incidents(is_wanted)?;
    let figures = Figures::of(&incidents);
    let text = match wish.json {
        true => serde_json::to_string_pretty(&figures)? + "\n",
        false => text::text(&figures, wish.rows),
    };
    // Who closes the pipe has seen enough.
    match std::io::stdout().write_all(text.as_bytes()) {
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        written => Ok(written?),
    }
}
