//! What `who` prints: the report of the machine, and the alerts below it.

use std::io::{self, Write};

use whyoom_node::{NodeReport, WhoAlert, WhoWidth, write_who, write_who_json};

use super::alert;
use crate::terminal::{full_width, width};

/// Writes a report, and what was asked of it below.
pub(super) fn write(
    report: &NodeReport,
    alerts: &[WhoAlert],
    json: bool,
    out: &mut dyn Write,
) -> io::Result<()> {
    if json {
        return write_who_json(report, alerts, out);
    }
    write_who(report, WhoWidth { words: width(), table: full_width() }, out)?;
    for (place, alert) in alerts.iter().enumerate() {
        let apart = if place == 0 { "\n" } else { "" };
        writeln!(out, "{apart}{}", alert::line(alert))?;
    }
    Ok(())
}
