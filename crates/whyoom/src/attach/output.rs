//! What was found, for people and for programs.

use std::{
    cmp::Reverse,
    io::{self, Write},
    path::Path,
};

use anyhow::{Context, Result};
use whyoom_causes::{Referrer, for_shell};
use whyoom_redact::{escaped_json, visible};
use whyoom_report::{Detail, VerdictParts, write_live, write_verdict, write_verdict_json};
use whyoom_trace::{Bytes, DeviceId};

use super::{
    answer::{Attached, History, RouteName},
    document::Document,
    visit::Found,
};
use crate::{arguments::AttachArguments, reading::Reading, terminal::width};

/// Lines of a table.
const LISTED: usize = 12;

/// Prints the verdict, what refers to the memory, and what the visit cost the process.
pub(super) fn write(arguments: &AttachArguments, found: &Found) -> Result<()> {
    let folder = found.folder.as_deref().context("there is no folder")?;
    let here = std::env::current_dir().unwrap_or_default();
    let shown = folder.strip_prefix(&here).unwrap_or(folder);
    let mut reading = Reading::new(false);
    reading.add(shown)?;
    let verdict = reading.judge()?;
    let answer = reading.answer(&verdict);
    let mut referrers: Vec<&Referrer> = reading.referrers().iter().collect();
    referrers.sort_by_key(|one| Reverse(bytes_of(one)));
    let mut out = io::BufWriter::new(anstream::stdout().lock());
    if arguments.json {
        let mut why = Vec::new();
        write_verdict_json(&answer, VerdictParts { live: true, timeline: false }, &mut why)?;
        let name = shown.to_string_lossy().into_owned();
        let document = Document::new(&found.attached, name, &referrers, &why)?;
        serde_json::to_writer_pretty(escaped_json(&mut out), &document)?;
        writeln!(out)?;
        return Ok(out.flush()?);
    }
    if found.attached.look.history == Some(History::Off) {
        write_state(&reading, found.attached.pid, &mut out)?;
    } else {
        write_verdict(&answer, Detail::Short, width(), &mut out)?;
        write_live(&answer, LISTED, &mut out)?;
    }
    write_referrers(&found.attached, &referrers, &mut out)?;
    write_cost(&found.attached, shown, &mut out)?;
    Ok(out.flush()?)
}

/// What it holds, where nothing is known of how it came about: without a history there is nothing to judge.
fn write_state(reading: &Reading, pid: u32, out: &mut dyn Write) -> io::Result<()> {
    let spaces = reading.inquiry.model.spaces();
    let mut held = spaces.filter(|(_, device, _)| *device != DeviceId::HOST).peekable();
    if held.peek().is_none() {
        writeln!(out, "Process {pid} holds nothing in PyTorch's allocator.")?;
    }
    for (_, device, space) in held {
        let totals = space.totals();
        writeln!(
            out,
            "Process {pid} holds {} in PyTorch's allocator on {device}, of {} reserved.",
            totals.allocated, totals.reserved
        )?;
    }
    writeln!(
        out,
        "Which line allocated it was not recorded. To see what grows, and where: whyoom attach {pid} \
         --for 10m"
    )
}

fn bytes_of(referrer: &Referrer) -> Bytes {
    referrer.blocks.iter().map(|(_, bytes)| *bytes).sum()
}

fn write_referrers(
    attached: &Attached,
    referrers: &[&Referrer],
    out: &mut dyn Write,
) -> io::Result<()> {
    if attached.look.referrers_seconds.is_none() {
        return Ok(());
    }
    let all: Bytes = referrers.iter().map(|one| bytes_of(one)).sum();
    let cut = if attached.look.referrers_complete == Some(false) { ", cut off" } else { "" };
    writeln!(out, "\nReferrers in Python: {all}, the largest first{cut}")?;
    writeln!(out, "  {:>11} {:>8}  referrer", "bytes", "tensors")?;
    for one in referrers.iter().take(LISTED) {
        let (bytes, told) = (bytes_of(one).to_string(), one.describe());
        writeln!(out, "  {bytes:>11} {:>8}  {}", one.blocks.len(), visible(&told))?;
    }
    if referrers.len() > LISTED {
        let rest: Bytes = referrers[LISTED..].iter().map(|one| bytes_of(one)).sum();
        writeln!(out, "  {:>11}  by {} more", rest.to_string(), referrers.len() - LISTED)?;
    }
    Ok(())
}

fn write_cost(attached: &Attached, folder: &Path, out: &mut dyn Write) -> io::Result<()> {
    let look = &attached.look;
    let stopped = match attached.route {
        RouteName::RemoteExec => "not stopped (Python ran the script by itself)".to_owned(),
        RouteName::PendingCall | RouteName::WaitingThread => {
            format!("stopped for {} by gdb", milliseconds(Some(attached.stopped_seconds)))
        }
    };
    let scan = look.referrers_seconds.map_or(String::new(), |taken| {
        format!(", the scan for referrers {}", milliseconds(Some(taken)))
    });
    writeln!(
        out,
        "\nThe process was {stopped}; in a thread of it the snapshot took {}{scan}; its own thread \
         was used for {}.",
        milliseconds(look.snapshot_seconds),
        milliseconds(look.main_seconds),
    )?;
    let history = match (look.history, look.ended) {
        (Some(History::Recorded), true) => "It ended while it was watched; this is its last state.",
        (Some(History::Recorded), false) => "It goes on; its history is switched off again.",
        (Some(History::Own), _) => "It goes on, and records its history by itself, as before.",
        _ => "It goes on; nothing is left in it.",
    };
    let folder = for_shell(&folder.to_string_lossy());
    writeln!(out, "{history} Kept in {folder}: whyoom why {folder}, whyoom report {folder}")
}

fn milliseconds(seconds: Option<f64>) -> String {
    seconds.map_or("an unknown time".to_owned(), |seconds| match seconds * 1e3 {
        below if below < 10.0 => format!("{below:.1} ms"),
        more => format!("{more:.0} ms"),
    })
}
