//! The peak over the values of something, as a small chart of characters: at most fifteen lines.

use whyoom_redact::terminal::shortened;
use whyoom_trace::Bytes;

use crate::{
    chart::{LABEL, filled},
    screen::Screen,
};

const HEIGHT: usize = 8;
const MOST_COLUMNS: usize = 60;
const LEAST_COLUMNS: usize = 16;
/// Names beside the chart have so much room.
const NAMES: usize = 24;
/// More devices are in the table alone.
const MOST_LIMITS: usize = 4;

/// The peak over the values of something, and what each device has room for.
pub(crate) struct ValueChart<'a> {
    pub(crate) name: &'a str,
    /// Values in order, and the peak at each.
    pub(crate) curve: &'a [(u64, u64)],
    pub(crate) limits: Vec<Limit<'a>>,
    /// The values that were run; the others are computed. Nothing where that is not told apart.
    pub(crate) runs: &'a [u64],
}

/// What one device has room for.
#[derive(Clone, Copy)]
pub(crate) struct Limit<'a> {
    pub(crate) gpu: &'a str,
    pub(crate) room: u64,
    /// The largest value that fits.
    pub(crate) largest: Option<u64>,
}

/// The characters that a chart is drawn with.
struct Marks {
    limit: char,
    span: char,
    end: char,
    onward: char,
    run: char,
    computed: char,
}

impl Marks {
    fn of(screen: Screen) -> Self {
        match screen.unicode {
            true => Self {
                limit: '┄', span: '━', end: '┥', onward: '▶', run: '▲', computed: '·'
            },
            false => Self { limit: '-', span: '=', end: '|', onward: '>', run: '^', computed: '.' },
        }
    }
}

/// Which column a value is in.
struct Columns {
    first: u64,
    last: u64,
    count: usize,
}

impl Columns {
    fn of(&self, value: u64) -> usize {
        let along = Bytes(value.clamp(self.first, self.last) - self.first);
        (along.share_of(Bytes(self.last - self.first)) * (self.count - 1) as f64).round() as usize
    }

    fn value(&self, column: usize) -> f64 {
        let along = column as f64 / (self.count - 1) as f64;
        self.first as f64 + (self.last - self.first) as f64 * along
    }
}

impl ValueChart<'_> {
    /// Its lines; none where there is no value.
    pub(crate) fn lines(&self, screen: Screen) -> Vec<String> {
        let (Some((first, _)), Some((last, _))) = (self.curve.first(), self.curve.last()) else {
            return Vec::new();
        };
        let names = self.limits.iter().map(|limit| limit.gpu.chars().count() + 1).max();
        let beside = LABEL + 1 + names.unwrap_or_default().min(NAMES);
        let count = screen.width.saturating_sub(beside).clamp(LEAST_COLUMNS, MOST_COLUMNS);
        let columns = Columns { first: *first, last: *last, count };
        let marks = Marks::of(screen);
        let mut lines = self.bars(&columns, &marks, screen);
        lines.push(self.axis(&columns));
        lines.extend(self.run_marks(&columns, &marks));
        lines.extend(self.spans(&columns, &marks));
        lines.iter().map(|line| shortened(line.trim_end(), screen.width)).collect()
    }

    /// What the highest line stands for: a limit that is little above the peak is shown too.
    fn top(&self) -> u64 {
        let peak = self.curve.iter().map(|(_, peak)| *peak).max().unwrap_or_default();
        let near = self.limits.iter().map(|limit| limit.room).filter(|room| *room < peak / 2 * 3);
        near.max().unwrap_or_default().max(peak).max(1)
    }

    fn bars(&self, columns: &Columns, marks: &Marks, screen: Screen) -> Vec<String> {
        let top = self.top();
        let height = |bytes: u64| Bytes(bytes).share_of(Bytes(top)) * HEIGHT as f64;
        let row_of = |bytes: u64| (height(bytes) as usize).min(HEIGHT - 1);
        let peaks: Vec<u64> =
            (0..columns.count).map(|one| self.peak_near(columns.value(one))).collect();
        let line = |row: usize| {
            let limits =
                self.limits.iter().filter(|one| one.room <= top && row_of(one.room) == row);
            let limits: Vec<&Limit<'_>> = limits.collect();
            let empty = if limits.is_empty() { ' ' } else { marks.limit };
            let bar = |peak: &u64| filled(height(*peak) - row as f64, screen.unicode);
            let cells: String = peaks.iter().map(|peak| bar(peak).unwrap_or(empty)).collect();
            let label = match limits.first() {
                Some(limit) => Bytes(limit.room).to_string(),
                None if row == HEIGHT - 1 => Bytes(top).to_string(),
                None => String::new(),
            };
            let names: Vec<&str> = limits.iter().map(|limit| limit.gpu).collect();
            format!("{label:>LABEL$} {cells} {}", names.join(", "))
        };
        (0..HEIGHT).rev().map(line).collect()
    }

    /// The peak at the value that is nearest.
    fn peak_near(&self, value: f64) -> u64 {
        let far = |point: &&(u64, u64)| (point.0 as f64 - value).abs();
        let nearest = self.curve.iter().min_by(|one, other| far(one).total_cmp(&far(other)));
        nearest.map_or(0, |(_, peak)| *peak)
    }

    fn axis(&self, columns: &Columns) -> String {
        let (first, last) = (columns.first.to_string(), columns.last);
        let width = columns.count.saturating_sub(first.len());
        let name = shortened(self.name, LABEL);
        match columns.first == columns.last {
            true => format!("{name:>LABEL$} {first}"),
            false => format!("{name:>LABEL$} {first}{last:>width$}"),
        }
    }

    /// Where the program was run; between those, the curve is computed.
    fn run_marks(&self, columns: &Columns, marks: &Marks) -> Option<String> {
        let at: Vec<usize> = self.runs.iter().map(|value| columns.of(*value)).collect();
        let mark = |column: usize| if at.contains(&column) { marks.run } else { marks.computed };
        let line: String = (0..columns.count).map(mark).collect();
        let label = format!("{} run {} not", marks.run, marks.computed);
        (!at.is_empty()).then(|| format!("{label:>LABEL$} {line}"))
    }

    /// For each device the values that fit, up to where it breaks.
    fn spans(&self, columns: &Columns, marks: &Marks) -> Vec<String> {
        let span = |limit: &Limit<'_>| {
            let to = limit.largest.map(|value| (value, columns.of(value)));
            let drawn = match to {
                None => "none".to_owned(),
                Some((value, to)) => {
                    let span: String = std::iter::repeat_n(marks.span, to).collect();
                    let end = if value < columns.last { marks.end } else { marks.onward };
                    format!("{span}{end} {value}")
                }
            };
            format!("{:>LABEL$} {drawn} {}", "fits up to", limit.gpu)
        };
        let mut limits: Vec<Limit<'_>> = self.limits.clone();
        limits.sort_by_key(|limit| limit.room);
        let more = limits.len().saturating_sub(MOST_LIMITS);
        let more = (more > 0).then(|| format!("{:>LABEL$} and {more} more: see the table", ""));
        limits.iter().take(MOST_LIMITS).map(span).chain(more).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GIB: u64 = 1 << 30;

    fn chart(unicode: bool, width: usize) -> String {
        let curve: Vec<(u64, u64)> = (1..=32).map(|batch| (batch, batch * GIB)).collect();
        let limit = |gpu, room: u64, largest| Limit { gpu, room: room * GIB, largest };
        let limits = vec![limit("L4", 22, Some(22)), limit("T4", 14, Some(14))];
        let chart = ValueChart { name: "batch", curve: &curve, limits, runs: &[8, 16, 22, 23] };
        let lines = chart.lines(Screen { width, unicode });
        assert!(lines.len() <= 15 && lines.iter().all(|line| line.chars().count() <= width));
        lines.join("\n")
    }

    #[test]
    fn limits_runs_and_the_break_are_in_it() {
        assert_eq!(
            chart(true, 60).lines().collect::<Vec<_>>(),
            [
                "  32.00 GiB                                         ▂▄▆▆█",
                "                                              ▂▄▄▆███████",
                "  22.00 GiB ┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄▂▂▄▆█████████████ L4",
                "                                   ▂▄▆▆██████████████████",
                "  14.00 GiB ┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄▂▄▄▆████████████████████████ T4",
                "                       ▂▂▄▆██████████████████████████████",
                "                 ▂▂▄▆▆███████████████████████████████████",
                "            ▂▄▄▆█████████████████████████████████████████",
                "      batch 1                                          32",
                "▲ run · not ··········▲··········▲········▲▲·············",
                " fits up to ━━━━━━━━━━━━━━━━━━┥ 14 T4",
                " fits up to ━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━┥ 22 L4",
            ]
        );
    }

    #[test]
    fn a_terminal_may_have_only_ascii() {
        let chart = chart(false, 50);
        assert!(chart.is_ascii(), "{chart}");
        assert!(chart.contains("--..####") && chart.contains("===| 14 T4"), "{chart}");
    }

    #[test]
    fn odd_curves_are_drawn_too() {
        let lines = |curve: &[(u64, u64)], limits: Vec<Limit<'_>>| {
            ValueChart { name: "seq", curve, limits, runs: &[] }
                .lines(Screen { width: usize::MAX, unicode: true })
        };
        assert!(lines(&[], Vec::new()).is_empty());
        let none = Limit { gpu: "T4", room: GIB, largest: None };
        assert_eq!(
            lines(&[(512, 2 * GIB)], vec![none]).last().map(String::as_str),
            Some(" fits up to none T4")
        );
        let all = Limit { largest: Some(u64::MAX), ..none };
        let many = lines(&[(1, 0), (u64::MAX, 0)], vec![all; 9]);
        assert!(many.len() <= 15 && many[13].ends_with("and 5 more: see the table"), "{many:?}");
        assert!(many[12].contains("▶ 18446744073709551615"), "{many:?}");
    }
}
