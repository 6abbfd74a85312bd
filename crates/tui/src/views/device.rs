//! One device: what is suspicious, how full, how busy, and how it was.

use ratatui::{
    style::Style,
    text::{Line, Span},
};
use whyoom_gpu::Device;
use whyoom_node::{DeviceReport, SuspicionKind};
use whyoom_trace::Bytes;

use super::{OwnLine, bar};
use crate::{
    fitting::{cut, padded, width as columns},
    look::Look,
    state::{History, Sample, State},
};

/// How much of a device is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Detail {
    /// Title, a bar each for memory and work, and a history of so many lines.
    Full { graph: usize },
    /// All suspicions, title and bars, for a page that is printed.
    Page,
    /// Title, and both bars on one line.
    Bars,
    /// One line, and what is suspicious.
    Brief,
    /// One line.
    Least,
}

/// Before a bar.
const LABEL: usize = 7;
/// Bars shorter than this say nothing.
const SHORTEST_BAR: usize = 4;

/// How many lines a device takes.
pub(super) fn height(device: &DeviceReport, detail: Detail) -> usize {
    let suspicion = usize::from(!device.suspicions.is_empty());
    match detail {
        Detail::Full { graph } => suspicion + 3 + graph,
        Detail::Page => device.suspicions.len() + 3,
        Detail::Bars => suspicion + 2,
        Detail::Brief => suspicion + 1,
        Detail::Least => 1,
    }
}

/// A device in as many lines as [`height`] says.
pub(super) fn describe(
    report: &DeviceReport,
    detail: Detail,
    state: &State,
    look: Look,
    width: usize,
) -> Vec<OwnLine> {
    let now = Sample::of(&report.device);
    let history = state.history(&report.device.uuid);
    let mut lines = Vec::new();
    match detail {
        Detail::Page => lines.extend(suspicions(report, look, width)),
        Detail::Least => {}
        _ => lines.extend(suspicion(report, look, width)),
    }
    match detail {
        Detail::Full { .. } | Detail::Page => {
            lines.push(title(&report.device, look, width));
            lines.push(memory_line(&report.device, now.memory, look, width));
            lines.push(busy_line(&now, look, width));
        }
        Detail::Bars => {
            lines.push(title(&report.device, look, width));
            lines.push(both_bars(&report.device, &now, history, look, width));
        }
        Detail::Brief | Detail::Least => lines.push(brief(report, &now, look, width)),
    }
    if let Detail::Full { graph } = detail {
        lines.extend(graphs(history, graph, look, width));
    }
    lines
}

/// The most important suspicion, in its own words.
fn suspicion(report: &DeviceReport, look: Look, width: usize) -> Option<OwnLine> {
    let first = report.suspicions.first()?;
    let more = match report.suspicions.len() - 1 {
        0 => " (w: why)".to_owned(),
        count => format!(" (w: why, and {count} more)"),
    };
    let room = width.saturating_sub(columns(&more) + 2);
    let text = format!("! {}", cut(&first.headline, room, look.cut_mark()));
    let style = match first.kind {
        SuspicionKind::OtherTenant | SuspicionKind::LostCapacity | SuspicionKind::MpsServer => {
            look.strong()
        }
        _ => look.alarm(),
    };
    Some(Line::from(vec![Span::styled(text, style), Span::styled(more, look.faint())]))
}

/// All suspicions, a line each.
fn suspicions(report: &DeviceReport, look: Look, width: usize) -> impl Iterator<Item = OwnLine> {
    report.suspicions.iter().map(move |suspicion| {
        let text = format!("! {}", suspicion.headline);
        Line::styled(cut(&text, width, look.cut_mark()), look.alarm())
    })
}

fn title(device: &Device, look: Look, width: usize) -> OwnLine {
    let right = sensors(device, look);
    let left = format!("GPU {}  {}", device.index, device.name);
    let room = width.saturating_sub(columns(&right) + 2);
    let left = padded(&cut(&left, room, look.cut_mark()), room, false);
    Line::from(vec![Span::styled(left, look.strong()), Span::raw(format!("  {right}"))])
}

/// What sensors tell, where there are any.
fn sensors(device: &Device, look: Look) -> String {
    let mut parts = Vec::new();
    if let Some(degrees) = device.temperature {
        parts.push(format!("{degrees} {}", if look.unicode { "°C" } else { "C" }));
    }
    let watts = |milliwatts: u32| format!("{:.0}", f64::from(milliwatts) / 1000.0);
    match (device.power_milliwatts, device.power_limit_milliwatts) {
        (Some(drawn), Some(limit)) => parts.push(format!("{}/{} W", watts(drawn), watts(limit))),
        (Some(drawn), None) => parts.push(format!("{} W", watts(drawn))),
        _ => {}
    }
    parts.join("  ")
}

fn memory_line(device: &Device, share: f64, look: Look, width: usize) -> OwnLine {
    let memory = &device.memory;
    let (used, total) = (Bytes(memory.used), Bytes(memory.total));
    let figures = format!("{used} of {total}, {} free", Bytes(memory.free));
    bar_line("memory", share, look.share(share), &figures, look, width)
}

/// A label, a bar as wide as is left, and figures.
fn bar_line(
    label: &str,
    share: f64,
    style: Style,
    figures: &str,
    look: Look,
    width: usize,
) -> OwnLine {
    let percent = format!(" {:>3.0} %  ", share * 100.0);
    let right = format!("{percent}{figures}");
    let length = width.saturating_sub(LABEL + columns(&right)).min(width / 2);
    let mut spans = vec![Span::raw(padded(label, LABEL, false))];
    if length >= SHORTEST_BAR {
        spans.extend(bar_spans(share, length, style, look));
    }
    spans.push(Span::raw(right));
    Line::from(spans)
}

fn busy_line(now: &Sample, look: Look, width: usize) -> OwnLine {
    let Some(busy) = now.busy else {
        return Line::from(vec![
            Span::raw(padded("busy", LABEL, false)),
            Span::styled("the driver does not say", look.faint()),
        ]);
    };
    bar_line("busy", busy, look.busy(), "", look, width)
}

fn bar_spans(share: f64, length: usize, style: Style, look: Look) -> [Span<'static>; 2] {
    let (full, empty) = bar::bar(share, length, look);
    [Span::styled(full, style), Span::styled(empty, look.faint())]
}

/// Memory's history on the left, that of work on the right.
fn graphs(history: Option<&History>, height: usize, look: Look, width: usize) -> Vec<OwnLine> {
    let left = width.saturating_sub(LABEL + 1).div_ceil(2);
    let right = width.saturating_sub(LABEL + 1 + left);
    let values = |count, pick: fn(&Sample) -> Option<f64>| {
        history.map(|history| history.last(count, pick)).unwrap_or_default()
    };
    let memory = bar::graph(&values(left, |sample| Some(sample.memory)), left, height, look);
    let busy = bar::graph(&values(right, |sample| sample.busy), right, height, look);
    let label = |line: usize| if line + 1 == height { "before " } else { "       " };
    let line = |(number, (memory, busy)): (usize, (String, String))| {
        Line::from(vec![
            Span::styled(label(number), look.faint()),
            Span::styled(memory, look.share(0.0)),
            Span::raw(" "),
            Span::styled(busy, look.busy()),
        ])
    };
    memory.into_iter().zip(busy).enumerate().map(line).collect()
}

fn both_bars(
    device: &Device,
    now: &Sample,
    history: Option<&History>,
    look: Look,
    width: usize,
) -> OwnLine {
    let busy = now.busy.map_or_else(|| "?".to_owned(), |busy| format!("{:.0} %", busy * 100.0));
    let memory = &device.memory;
    let right = format!(" {} of {}  busy {busy:<6}", Bytes(memory.used), Bytes(memory.total));
    let room = width.saturating_sub(LABEL + columns(&right));
    let length = if room >= 3 * SHORTEST_BAR { room * 2 / 3 } else { room };
    let mut spans = vec![Span::raw(padded("memory", LABEL, false))];
    spans.extend(bar_spans(now.memory, length, look.share(now.memory), look));
    spans.push(Span::raw(right));
    spans.push(recent(history, room - length, look));
    Line::from(spans)
}

fn recent(history: Option<&History>, width: usize, look: Look) -> Span<'static> {
    let values = history.map(|history| history.last(width, |sample| Some(sample.memory)));
    let graph = bar::graph(&values.unwrap_or_default(), width, 1, look);
    Span::styled(graph.concat(), look.faint())
}

fn brief(report: &DeviceReport, now: &Sample, look: Look, width: usize) -> OwnLine {
    let device = &report.device;
    let mark = if report.suspicions.is_empty() { "  " } else { "! " };
    let busy = now.busy.map_or_else(|| "?".to_owned(), |busy| format!("{:.0} %", busy * 100.0));
    let (used, total) = (Bytes(device.memory.used), Bytes(device.memory.total));
    let right = format!(" {used:>10} of {total:>10} {busy:>6}");
    let left = format!("{:>2} ", device.index);
    let room = width.saturating_sub(columns(&left) + columns(&right) + 2);
    let name = if room >= 30 { room / 2 } else { 0 };
    let named = padded(&cut(&device.name, name.saturating_sub(1), look.cut_mark()), name, false);
    let mut spans = vec![Span::styled(mark, look.alarm()), Span::raw(left), Span::raw(named)];
    spans.extend(bar_spans(now.memory, room - name, look.share(now.memory), look));
    spans.push(Span::raw(right));
    Line::from(spans)
}
