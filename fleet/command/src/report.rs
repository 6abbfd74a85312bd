//! `whyoom-fleet report`: what the cluster ran out of memory for, folded from the archive in one pass.

pub(crate) mod figures;
mod text;

use std::io::Write as _;

use anyhow::Result;
use jiff::{ToSpan as _, civil::Date};
use whyoom_archive::Archive;

use self::figures::Figures;
use crate::cli::ReportWish;

pub(crate) fn run(wish: &ReportWish) -> Result<()> {
    let archive = Archive::existing(&wish.archive)?;
    let is_wanted =
        |day: Date| wish.from.is_none_or(|from| day >= from) && wish.to.is_none_or(|to| day <= to);
    // An object is of the day of its first incident, by the agent's clock.
    let mut incidents = archive.incidents(|day| {
        [day, day.saturating_add(1.day()), day.saturating_sub(1.day())].into_iter().any(is_wanted)
    })?;
    incidents.retain(|incident| is_wanted(figures::day_of(incident.time)));
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
