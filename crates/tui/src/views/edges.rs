//! The first line, the last line, and what concerns no single device.

use std::collections::BTreeSet;

use ratatui::text::{Line, Span};
use whyoom_node::{DeviceReport, NodeReport};

use super::OwnLine;
use crate::{
    fitting::{cut, width as columns, wrapped},
    state::{Mode, State},
    theme::Theme,
    wording,
};

/// Keys worth knowing, the most needed first: what does not fit is left out.
const HINTS: [(&str, &str); 9] = [
    ("q", "quit"),
    ("?", "help"),
    ("Enter", "details"),
    ("w", "why"),
    ("k", "signal"),
    ("/", "filter"),
    ("t", "tree"),
    ("<>", "sort"),
    ("Tab", "device"),
];

/// The keys of a text over the table.
const TEXT_HINTS: [(&str, &str); 3] = [("Esc", "back"), ("Up Down", "scroll"), ("?", "help")];
/// The keys of a question, which are in the question itself.
const QUESTION_HINTS: [(&str, &str); 1] = [("Esc", "back, nothing is sent")];

/// What is shown, and in which way.
pub(super) fn header(state: &State, theme: Theme, width: usize) -> OwnLine {
    let mut parts = Vec::new();
    if let Some(report) = state.report() {
        parts.extend(summary(report));
        parts.push(wording::clock(report.time));
    }
    if state.paused {
        parts.push("paused".to_owned());
    }
    let arrangement = &state.arrangement;
    if let Some(device) = arrangement.device {
        parts.push(format!("only GPU {device}"));
    }
    if !arrangement.filter.is_empty() {
        parts.push(format!("filter: {}", arrangement.filter));
    }
    if arrangement.tree {
        parts.push("tree".to_owned());
    }
    let reversed = if arrangement.reversed { ", reversed" } else { "" };
    parts.push(format!("by {}{reversed}", arrangement.order.word()));
    let rest = cut(&parts.join("  "), width.saturating_sub(12), theme.cut_mark());
    Line::from(vec![Span::styled("whyoom top  ", theme.strong()), Span::raw(rest)])
}

/// That figures are simulated comes first: it must not be cut off.
fn summary(report: &NodeReport) -> [String; 2] {
    let holders =
        |device: &DeviceReport| device.holders.iter().map(|one| one.pid).collect::<Vec<_>>();
    let pids: BTreeSet<u32> = report.devices.iter().flat_map(holders).collect();
    let simulated = report.devices.iter().any(|one| one.device.name.contains("(simulated)"));
    let kind = if simulated { "simulated GPU" } else { "GPU" };
    [
        wording::count(report.devices.len(), kind, &format!("{kind}s")),
        wording::count(pids.len(), "process", "processes"),
    ]
}

/// The filter while it is typed, what the last action led to, what is wrong, or the keys.
pub(super) fn footer(state: &State, theme: Theme, width: usize) -> OwnLine {
    if state.mode == Mode::Filter {
        let text = format!("filter: {}_", state.arrangement.filter);
        // The end is where one types.
        let over = columns(&text).saturating_sub(width);
        let shown: String = text.chars().skip(over).collect();
        return Line::styled(cut(&shown, width, theme.cut_mark()), theme.strong());
    }
    if let Some(message) = &state.message {
        return Line::styled(cut(message, width, theme.cut_mark()), theme.strong());
    }
    if let (Some(trouble), Some(_)) = (&state.trouble, state.report()) {
        let text = format!("! stale values: {trouble}");
        return Line::styled(cut(&text, width, theme.cut_mark()), theme.alarm());
    }
    match state.mode {
        Mode::Table | Mode::Filter => hints(&HINTS, theme, width),
        Mode::Details | Mode::Findings | Mode::Help => hints(&TEXT_HINTS, theme, width),
        Mode::Confirm(_) => hints(&QUESTION_HINTS, theme, width),
    }
}

fn hints(hints: &[(&'static str, &str)], theme: Theme, width: usize) -> OwnLine {
    let mut spans = Vec::new();
    let mut used = 0;
    for (key, about) in hints {
        let more = key.len() + about.len() + 3;
        if used + more > width + 2 {
            break;
        }
        used += more;
        spans.push(Span::styled(*key, theme.paste().patch(theme.strong())));
        spans.push(Span::raw(format!(" {about}  ")));
    }
    Line::from(spans)
}

/// What concerns no single device, in full.
pub(super) fn notes(state: &State, theme: Theme, width: usize) -> Vec<OwnLine> {
    let notes = state.report().map_or(&[][..], |report| &report.notes);
    let mut lines = Vec::new();
    for note in notes {
        let text = wrapped(&format!("note: {note}"), width);
        lines.extend(text.into_iter().map(|line| Line::styled(line, theme.faint())));
    }
    lines
}
