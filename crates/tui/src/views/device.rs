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
    state::{History, Sample, State},
    theme::Theme,
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
/// Behind it.
const PERCENT: usize = 8;
/// A line with temperature and power needs so many columns.
const SENSORS_WIDTH: usize = 80;
/// How busy it is, as `nvidia-smi` and nvitop shorten it: the share of time in which a kernel ran.
const UTILIZATION: &str = "util";
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
    theme: Theme,
    width: usize,
) -> Vec<OwnLine> {
    let now = Sample::of(&report.device);
    let history = state.history(&report.device.uuid);
    let mut lines = Vec::new();
    match detail {
        Detail::Page => lines.extend(suspicions(report, theme, width)),
        Detail::Least => {}
        _ => lines.extend(suspicion(report, theme, width)),
    }
    match detail {
        Detail::Full { .. } | Detail::Page => {
            lines.push(title(&report.device, theme, width));
            lines.push(memory_line(&report.device, now.memory, theme, width));
            lines.push(busy_line(&now, theme, width));
        }
        Detail::Bars => {
            lines.push(title(&report.device, theme, width));
            lines.push(both_bars(&report.device, &now, history, theme, width));
        }
        Detail::Brief | Detail::Least => lines.push(brief(report, &now, theme, width)),
    }
    if let Detail::Full { graph } = detail {
        lines.extend(graphs(history, graph, theme, width));
    }
    lines
}

/// The most important suspicion, in its own words.
fn suspicion(report: &DeviceReport, theme: Theme, width: usize) -> Option<OwnLine> {
    let first = report.suspicions.first()?;
    let more = match report.suspicions.len() - 1 {
        0 => " (w: why)".to_owned(),
        count => format!(" (w: why, and {count} more)"),
    };
    let room = width.saturating_sub(columns(&more) + 2);
    let text = format!("! {}", cut(&first.headline, room, theme.cut_mark()));
    let style = match first.kind {
        SuspicionKind::OtherTenant | SuspicionKind::LostCapacity | SuspicionKind::MpsServer => {
            theme.strong()
        }
        _ => theme.alarm(),
    };
    Some(Line::from(vec![Span::styled(text, style), Span::styled(more, theme.faint())]))
}

/// All suspicions, a line each.
fn suspicions(report: &DeviceReport, theme: Theme, width: usize) -> impl Iterator<Item = OwnLine> {
    report.suspicions.iter().map(move |suspicion| {
        let text = format!("! {}", suspicion.headline);
        Line::styled(cut(&text, width, theme.cut_mark()), theme.alarm())
    })
}

fn title(device: &Device, theme: Theme, width: usize) -> OwnLine {
    let right = sensors(device, theme);
    let left = format!("GPU {}  {}", device.index, device.name);
    let room = width.saturating_sub(columns(&right) + 2);
    let left = padded(&cut(&left, room, theme.cut_mark()), room, false);
    Line::from(vec![Span::styled(left, theme.strong()), Span::raw(format!("  {right}"))])
}

/// Temperature, and the power that it draws of what it may.
fn sensors(device: &Device, theme: Theme) -> String {
    let drawn = watts(device.power_milliwatts);
    let power = match device.power_limit_milliwatts {
        Some(limit) => format!("{drawn}/{} W", watts(Some(limit))),
        None => format!("{drawn} W"),
    };
    format!("{}  {power}", temperature(device, theme))
}

fn temperature(device: &Device, theme: Theme) -> String {
    let degrees = device.temperature.map_or_else(unknown, |degrees| degrees.to_string());
    format!("{degrees} {}", if theme.unicode { "°C" } else { "C" })
}

fn watts(milliwatts: Option<u32>) -> String {
    milliwatts.map_or_else(unknown, |drawn| format!("{:.0}", f64::from(drawn) / 1000.0))
}

fn percent(share: Option<f64>) -> String {
    share.map_or_else(unknown, |share| format!("{:.0} %", share * 100.0))
}

/// What the driver does not report.
fn unknown() -> String {
    "-".to_owned()
}

fn memory_line(device: &Device, share: f64, theme: Theme, width: usize) -> OwnLine {
    let memory = &device.memory;
    let (used, total) = (Bytes(memory.used), Bytes(memory.total));
    let figures = format!("{used} of {total}");
    let with_free = format!("{figures}, {} free", Bytes(memory.free));
    let fits = LABEL + PERCENT + columns(&with_free) <= width;
    let figures = if fits { with_free } else { figures };
    bar_line("memory", share, theme.share(share), &figures, theme, width)
}

/// A label, a bar as wide as is left, and figures.
fn bar_line(
    label: &str,
    share: f64,
    style: Style,
    figures: &str,
    theme: Theme,
    width: usize,
) -> OwnLine {
    let percent = format!(" {:>3.0} %  ", share * 100.0);
    let right = format!("{percent}{figures}");
    let length = width.saturating_sub(LABEL + columns(&right)).min(width / 2);
    let mut spans = vec![Span::raw(padded(label, LABEL, false))];
    if length >= SHORTEST_BAR {
        spans.extend(bar_spans(share, length, style, theme));
    }
    spans.push(Span::raw(right));
    Line::from(spans)
}

fn busy_line(now: &Sample, theme: Theme, width: usize) -> OwnLine {
    let Some(busy) = now.busy else {
        return Line::from(vec![
            Span::raw(padded(UTILIZATION, LABEL, false)),
            Span::styled(unknown(), theme.faint()),
        ]);
    };
    bar_line(UTILIZATION, busy, theme.busy(), "", theme, width)
}

fn bar_spans(share: f64, length: usize, style: Style, theme: Theme) -> [Span<'static>; 2] {
    let (full, empty) = bar::bar(share, length, theme);
    [Span::styled(full, style), Span::styled(empty, theme.faint())]
}

/// Memory's history on the left, that of work on the right, each with its name.
fn graphs(history: Option<&History>, height: usize, theme: Theme, width: usize) -> Vec<OwnLine> {
    let labels = ["memory ", "  util "];
    let room = width.saturating_sub(labels.iter().map(|label| columns(label)).sum());
    let left = room.div_ceil(2);
    let right = room - left;
    let values = |count, pick: fn(&Sample) -> Option<f64>| {
        history.map(|history| history.last(count, pick)).unwrap_or_default()
    };
    let memory = bar::graph(&values(left, |sample| Some(sample.memory)), left, height, theme);
    let busy = bar::graph(&values(right, |sample| sample.busy), right, height, theme);
    // The name stands at the foot of a graph.
    let label = |line: usize, text: &'static str| {
        let text = if line + 1 == height { text } else { "       " };
        Span::styled(text, theme.faint())
    };
    let line = |(number, (memory, busy)): (usize, (String, String))| {
        Line::from(vec![
            label(number, labels[0]),
            Span::styled(memory, theme.share(0.0)),
            label(number, labels[1]),
            Span::styled(busy, theme.busy()),
        ])
    };
    memory.into_iter().zip(busy).enumerate().map(line).collect()
}

fn both_bars(
    device: &Device,
    now: &Sample,
    history: Option<&History>,
    theme: Theme,
    width: usize,
) -> OwnLine {
    let busy = percent(now.busy);
    let memory = &device.memory;
    let (used, total) = (Bytes(memory.used), Bytes(memory.total));
    let right = format!(" {used} of {total}  {UTILIZATION} {busy:<6}");
    let room = width.saturating_sub(LABEL + columns(&right));
    let length = if room >= 2 * (LABEL + SHORTEST_BAR) { room / 2 } else { room };
    let mut spans = vec![Span::raw(padded("memory", LABEL, false))];
    spans.extend(bar_spans(now.memory, length, theme.share(now.memory), theme));
    spans.push(Span::raw(right));
    spans.push(recent(history, room - length, theme));
    Line::from(spans)
}

/// Memory's history, with its name where there is room for both.
fn recent(history: Option<&History>, width: usize, theme: Theme) -> Span<'static> {
    let label = if width > LABEL { "memory " } else { "" };
    let width = width.saturating_sub(LABEL);
    let values = history.map(|history| history.last(width, |sample| Some(sample.memory)));
    let graph = bar::graph(&values.unwrap_or_default(), width, 1, theme);
    Span::styled(format!("{label}{}", graph.concat()), theme.faint())
}

fn brief(report: &DeviceReport, now: &Sample, theme: Theme, width: usize) -> OwnLine {
    let device = &report.device;
    let mark = if report.suspicions.is_empty() { "  " } else { "! " };
    let (used, total, busy) =
        (Bytes(device.memory.used), Bytes(device.memory.total), percent(now.busy));
    let mut right = format!(" {used:>10} of {total:>10} {busy:>6}");
    if width >= SENSORS_WIDTH {
        let watts = format!("{} W", watts(device.power_milliwatts));
        right.push_str(&format!(" {:>6} {watts:>6}", temperature(device, theme)));
    }
    let left = format!("{:>2} ", device.index);
    let room = width.saturating_sub(columns(&left) + columns(&right) + 2);
    let name = if room >= 30 { room / 2 } else { 0 };
    let named = padded(&cut(&device.name, name.saturating_sub(1), theme.cut_mark()), name, false);
    let mut spans = vec![Span::styled(mark, theme.alarm()), Span::raw(left), Span::raw(named)];
    spans.extend(bar_spans(now.memory, room - name, theme.share(now.memory), theme));
    spans.push(Span::raw(right));
    Line::from(spans)
}
