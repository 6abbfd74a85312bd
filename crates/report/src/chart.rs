//! Memory over time as a small chart of characters.

use whyoom_memory::{Moment, Space};
use whyoom_trace::Bytes;

const HEIGHT: usize = 6;
/// The height of a chart over values.
const VALUE_HEIGHT: usize = 8;
const LABEL: usize = 11;
/// Fewer points make no picture.
const MIN_POINTS: usize = 16;

/// The lines of a chart of a space's memory over time, or none where there is too little to see.
pub(crate) fn memory_over_time(space: &Space, width: usize) -> Vec<String> {
    let points: Vec<Moment> = space.timeline().points().iter().map(|point| point.highest).collect();
    let columns = width.saturating_sub(LABEL + 4).clamp(20, 80);
    let top = points.iter().map(|point| point.reserved.max(point.allocated)).max();
    let Some(top) = top.filter(|top| points.len() >= MIN_POINTS && *top > Bytes::ZERO) else {
        return Vec::new();
    };
    let columns: Vec<(f64, f64)> =
        (0..columns).map(|column| highest(&points, column, columns, top)).collect();
    let mut lines: Vec<String> = (0..HEIGHT)
        .rev()
        .map(|row| {
            let label = match row {
                0 => Bytes::ZERO.to_string(),
                row if row == HEIGHT - 1 => top.to_string(),
                _ => String::new(),
            };
            let cells: String = columns.iter().map(|&column| cell(column, row)).collect();
            format!("{label:>LABEL$} {}", cells.trim_end())
        })
        .collect();
    lines.push(format!("{:>LABEL$} █ in use  ░ reserved", ""));
    lines
}

/// The allocated bytes of a space over time in one line, with the peak, or none where there is too little to see.
pub(crate) fn allocated_over_time(space: &Space, width: usize) -> Option<String> {
    const BEFORE: &str = "allocated over time ";
    let points: Vec<Moment> = space.timeline().points().iter().map(|point| point.highest).collect();
    let top = points.iter().map(|point| point.allocated).max()?;
    let behind = format!(" peak {top}");
    let columns = width.saturating_sub(BEFORE.len() + behind.len()).min(40);
    if points.len() < MIN_POINTS || top == Bytes::ZERO || columns < MIN_POINTS {
        return None;
    }
    let share = |column| highest(&points, column, columns, top).0;
    let line: String = (0..columns).map(|column| eighths(share(column)).unwrap_or(' ')).collect();
    Some(format!("{BEFORE}{line}{behind}"))
}

/// The lines of a chart of the peak over the values of something, with the devices' room marked.
pub(crate) fn peak_by_value(
    name: &str,
    curve: &[(u64, u64)],
    rooms: &[(&'static str, u64)],
) -> Vec<String> {
    let (Some(first), Some(last)) = (curve.first(), curve.last()) else {
        return Vec::new();
    };
    let (first, last) = (first.0.to_string(), last.0);
    let peaks = || curve.iter().map(|(_, bytes)| *bytes);
    let top = peaks().max().unwrap_or_default();
    let row_of = |bytes: u64| (Bytes(bytes).share_of(Bytes(top)) * VALUE_HEIGHT as f64) as usize;
    let mut lines: Vec<String> = (0..VALUE_HEIGHT)
        .rev()
        .map(|row| {
            let at_row = |room: u64| room <= top && row_of(room).min(VALUE_HEIGHT - 1) == row;
            let marked = rooms.iter().filter(|(_, room)| at_row(*room));
            let names: Vec<&str> = marked.map(|(gpu, _)| *gpu).collect();
            let empty = if names.is_empty() { ' ' } else { '┄' };
            let share = |peak: u64| Bytes(peak).share_of(Bytes(top));
            let bar = |peak: u64| eighths(share(peak) * VALUE_HEIGHT as f64 - row as f64);
            let cells = peaks().map(|peak| bar(peak).unwrap_or(empty));
            let label =
                if row == VALUE_HEIGHT - 1 { Bytes(top).to_string() } else { String::new() };
            let line =
                format!("{label:>LABEL$} {} {}", cells.collect::<String>(), names.join(", "));
            line.trim_end().to_owned()
        })
        .collect();
    let width = curve.len().saturating_sub(first.len());
    lines.push(format!("{name:>LABEL$} {first}{last:>width$}"));
    lines
}

/// The highest use and reservation of a column's stretch of time, as shares of the chart's height.
fn highest(points: &[Moment], column: usize, columns: usize, top: Bytes) -> (f64, f64) {
    let from = column * points.len() / columns;
    let to = ((column + 1) * points.len() / columns).max(from + 1);
    let stretch = &points[from..to.min(points.len())];
    let share =
        |of: fn(&Moment) -> Bytes| stretch.iter().map(of).max().unwrap_or_default().share_of(top);
    (share(|point| point.allocated), share(|point| point.reserved))
}

fn cell((allocated, reserved): (f64, f64), row: usize) -> char {
    let height = |share: f64| share * HEIGHT as f64 - row as f64;
    let cached = if height(reserved) > 0.25 { '░' } else { ' ' };
    eighths(height(allocated)).unwrap_or(cached)
}

/// The character that fills a share of its line; none where that is nothing to see.
fn eighths(height: f64) -> Option<char> {
    const EIGHTHS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let filled = (height.clamp(0.0, 1.0) * 8.0).round() as usize;
    filled.checked_sub(1).map(|filled| EIGHTHS[filled])
}
