//! `whyoom-fleet report`: what the cluster ran out of memory for, folded from the archive in one pass.

pub(crate) mod figures;
mod html;
mod text;
mod words;

use std::{fs, io::Write as _, path::Path};

use anyhow::{Context as _, Result, bail};
use jiff::{Timestamp, ToSpan as _, civil::Date, tz::TimeZone};
use whyoom_archive::Archive;
use whyoom_incident::Incident;

use self::{figures::Figures, html::About};
use crate::{
    cli::ReportWish,
    passed_over::{self, Damaged},
};

pub(crate) fn run(wish: &ReportWish) -> Result<()> {
    if let Some(file) = &wish.html {
        may_write(file)?;
    }
    let archive = Archive::existing(&wish.archive)?;
    let is_wanted =
        |day: Date| wish.from.is_none_or(|from| day >= from) && wish.to.is_none_or(|to| day <= to);
    // An object is of the day of its first incident, by the agent's clock.
    let mut incidents = archive.incidents(|day| {
        [day, day.saturating_add(1.day()), day.saturating_sub(1.day())].into_iter().any(is_wanted)
    })?;
    let damaged = Damaged::of(&archive.damaged());
    for line in passed_over::line(&archive.passed_over()).into_iter().chain(damaged.line()) {
        eprintln!("{line}");
    }
    incidents.retain(|incident| is_wanted(figures::day_of(incident.time)));
    let mut figures = Figures::of(&incidents);
    figures.damaged_objects = damaged;
    let text = if let Some(file) = &wish.html {
        write_page(file, &html::page(&figures, &about(wish, &incidents), wish.rows))?
    } else if wish.json {
        serde_json::to_string_pretty(&figures)? + "\n"
    } else {
        text::text(&figures, wish.rows)
    };
    // Who closes the pipe has seen enough.
    match std::io::stdout().write_all(text.as_bytes()) {
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        written => Ok(written?),
    }
}

fn about(wish: &ReportWish, incidents: &[Incident]) -> About {
    let clusters = incidents.iter().map(|incident| incident.cluster.clone());
    About {
        clusters: clusters.filter(|name| !name.is_empty()).collect(),
        from: wish.from,
        to: wish.to,
        made: Timestamp::now().to_zoned(TimeZone::UTC).date(),
    }
}

/// Refuses what must not be replaced. Asked before the archive is read, which may take a while.
fn may_write(file: &Path) -> Result<()> {
    let is_taken = fs::symlink_metadata(file).is_ok_and(|found| !found.is_file());
    if is_taken {
        bail!("cannot write {}: it is not a regular file; name another", file.display());
    }
    Ok(())
}

/// The page as a whole, or what was there before; in a line, where it is.
fn write_page(file: &Path, page: &str) -> Result<String> {
    whyoom_files::private::replace(file, page)
        .with_context(|| format!("cannot write {}", file.display()))?;
    Ok(format!("The report is in {}\n", file.display()))
}
