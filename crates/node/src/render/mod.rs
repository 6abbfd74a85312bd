//! Who holds device memory, as people read it: for each device the answer in a line, what shows it,
//! the command that frees it; then the table of holders.

mod changes;
mod holders;
mod idle;
mod json;
#[cfg(test)]
mod tests;
mod verdict;

use std::io::{self, Write};

use anstyle::{AnsiColor, Style};
use whyoom_redact::{
    terminal::{FAINT, HEADLINE, PASTE, styled, wrap},
    visible,
};
use whyoom_trace::Bytes;

use self::verdict::{is_suspicious, kind_name, who_verdict};
pub use self::{
    changes::who_changes,
    holders::{holder_age, holder_command},
    json::{WhoAlert, write_who_json, write_who_json_line},
};
use crate::report::{DeviceReport, NodeReport, Suspicion, SuspicionKind};

/// Suspicions beyond these are left to `--json`.
const SUSPICIONS: usize = 8;

/// How wide a report may be.
#[derive(Debug, Clone, Copy)]
pub struct WhoWidth {
    /// Sentences, in characters.
    pub words: usize,
    /// The table of holders, which may use all of a wide terminal.
    pub table: usize,
}

/// Writes who holds memory for people, with colours.
///
/// # Errors
/// When `out` cannot be written to.
pub fn write_who(report: &NodeReport, width: WhoWidth, out: &mut dyn Write) -> io::Result<()> {
    if report.devices.is_empty() {
        writeln!(out, "{}", styled(HEADLINE, "The driver works, but lists no GPU here."))?;
    }
    for (place, devices) in idle::together(&report.devices).iter().enumerate() {
        if place > 0 {
            writeln!(out)?;
        }
        match devices.as_slice() {
            [device] => write_device(report, device, width, out)?,
            several => write_idle(several, width.words, out)?,
        }
    }
    for note in &report.notes {
        writeln!(out, "\n{}", wrap(&format!("Note: {note}"), width.words, ""))?;
    }
    Ok(())
}

fn write_device(
    report: &NodeReport,
    device: &DeviceReport,
    width: WhoWidth,
    out: &mut dyn Write,
) -> io::Result<()> {
    let label = format!("GPU {}", device.device.index);
    // A word stays in one line with its amount.
    let answer = who_verdict(device).replace(" (", "\u{a0}(");
    write_answer(&label, &answer, mood(device), width.words, out)?;
    for suspicion in device.suspicions.iter().take(SUSPICIONS) {
        write_suspicion(suspicion, width.words, out)?;
    }
    if let Some(more) = device.suspicions.len().checked_sub(SUSPICIONS).filter(|more| *more > 0) {
        writeln!(out, "\n… and {more} more (all of them: --json)")?;
    }
    writeln!(out)?;
    holders::write_table(report, device, width.table, out)?;
    write_not_in_table(device, width.words, out)
}

/// A line for idle devices that are alike: an empty table of each would say nothing more.
fn write_idle(devices: &[&DeviceReport], width: usize, out: &mut dyn Write) -> io::Result<()> {
    let Some(first) = devices.first() else { return Ok(()) };
    write_answer(&idle::label(devices), &idle::answer(first), mood(first), width, out)
}

/// The first line of a device.
fn write_answer(
    label: &str,
    answer: &str,
    mood: Style,
    width: usize,
    out: &mut dyn Write,
) -> io::Result<()> {
    let line = wrap(&format!("{label}: {answer}"), width, "");
    // A long list of devices may be broken itself.
    let (label, answer) = line.split_once(':').unwrap_or((&line, ""));
    writeln!(out, "{}{}", styled(mood, label), styled(HEADLINE, format!(":{answer}")))
}

/// Red for what is wrong, yellow for what is worth knowing, green for health.
fn mood(device: &DeviceReport) -> Style {
    let color = match device.suspicions.iter().map(|one| is_suspicious(one.kind)).max() {
        Some(true) => AnsiColor::Red,
        Some(false) => AnsiColor::Yellow,
        None => AnsiColor::Green,
    };
    color.on_default().bold()
}

/// What it is, the numbers that show it, the command to paste.
fn write_suspicion(suspicion: &Suspicion, width: usize, out: &mut dyn Write) -> io::Result<()> {
    let kind = kind_name(suspicion.kind);
    let headline = wrap(&format!("{kind}: {}", suspicion.headline), width, "");
    let color = if is_suspicious(suspicion.kind) { AnsiColor::Red } else { AnsiColor::Yellow };
    let label = styled(color.on_default().bold(), kind);
    writeln!(out, "\n{label}{}", &headline[kind.len()..])?;
    writeln!(out, "{}", wrap(&sentence(&suspicion.because), width, "    "))?;
    match &suspicion.command {
        Some(command) => {
            writeln!(out, "\n  {}", styled(PASTE, visible(command)))
        }
        None => Ok(()),
    }
}

/// Writes why processes are taken for orphans, as the checks say it.
///
/// # Errors
/// When `out` cannot be written to.
pub fn write_orphan_reasons(
    report: &NodeReport,
    pids: &[u32],
    width: usize,
    out: &mut dyn Write,
) -> io::Result<()> {
    let suspicions = report.devices.iter().flat_map(|device| &device.suspicions);
    // A process that holds memory of several devices is told of once.
    let mut untold = pids.to_vec();
    for suspicion in suspicions.filter(|one| one.kind == SuspicionKind::Orphan) {
        let before = untold.len();
        untold.retain(|pid| !suspicion.pids.contains(pid));
        if untold.len() < before {
            writeln!(out, "{}", wrap(&sentence(&suspicion.because), width, "    "))?;
        }
    }
    Ok(())
}

/// Begun with a capital.
fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}

/// What is in use beside the holders, so that the sum can be checked.
fn write_not_in_table(device: &DeviceReport, width: usize, out: &mut dyn Write) -> io::Result<()> {
    let mut parts = Vec::new();
    if let Some(reserved) = device.device.memory.reserved.filter(|reserved| *reserved > 0) {
        parts.push(format!("{} reserved by the driver", Bytes(reserved)));
    }
    if device.residual > 0 {
        parts.push(format!("{} that no listed process accounts for", Bytes(device.residual)));
    }
    if parts.is_empty() {
        return Ok(());
    }
    let beside = if device.holders.is_empty() { "In use" } else { "Also in use" };
    let line = wrap(&format!("{beside}: {}.", parts.join(", ")), width, "  ");
    writeln!(out, "{}", styled(FAINT, line))
}
