//! Memory over time as a small chart of characters.

use whyoom_memory::{Moment, Space};
use whyoom_trace::Bytes;

const HEIGHT: usize = 6;
pub(crate) const LABEL: usize = 11;
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
pub(crate) fn eighths(height: f64) -> Option<char> {
    const EIGHTHS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let filled = (height.clamp(0.0, 1.0) * 8.0).round() as usize;
    filled.checked_sub(1).map(|filled| EIGHTHS[filled])
}

/// The same for a terminal that may have only ASCII.
pub(crate) fn filled(height: f64, unicode: bool) -> Option<char> {
    match (unicode, height) {
        (true, _) => eighths(height),
        (false, ..0.25) => None,
        (false, ..0.75) => Some('.'),
        (false, _) => Some('#'),
    }
}
