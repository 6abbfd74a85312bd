//! The largest value for values of other parameters, as bars of characters.

use whyoom_redact::terminal::shortened;
use whyoom_trace::Bytes;

use crate::{
    chart::{LABEL, filled},
    screen::Screen,
};

const HEIGHT: usize = 6;
/// More devices are in the table alone.
const MOST_GPUS: usize = 4;
/// A bar and the gap behind it.
const BAR: usize = 3;

/// For each row the largest value on each device.
pub(crate) struct FrontierChart<'a> {
    pub(crate) name: &'a str,
    /// What the rows differ in.
    pub(crate) by: &'a str,
    pub(crate) gpus: Vec<&'a str>,
    /// The values of a row as text, and the largest for each device.
    pub(crate) rows: Vec<(String, Vec<Option<u64>>)>,
}

impl FrontierChart<'_> {
    /// Its lines; none where there is no room for its bars, or nothing to show.
    pub(crate) fn lines(&self, screen: Screen) -> Vec<String> {
        let room = screen.width.saturating_sub(LABEL + 1);
        let fits = |gpus: &usize| self.rows.len() * self.cell(*gpus) <= room;
        let Some(gpus) = (1..=self.gpus.len().min(MOST_GPUS)).rev().find(fits) else {
            return Vec::new();
        };
        let values = self.rows.iter().flat_map(|(_, largest)| largest.iter().flatten());
        let Some(top) = values.copied().max().filter(|top| *top > 0) else { return Vec::new() };
        let mut lines: Vec<String> =
            (0..HEIGHT).rev().map(|row| self.bars(row, gpus, top, screen.unicode)).collect();
        if gpus > 1 {
            lines.push(self.line("", gpus, |_, gpu| letter(gpu).to_string()));
        }
        let cell = self.cell(gpus);
        let label = |(values, _): &(String, _)| format!("{values:<cell$}");
        let labels: String = self.rows.iter().map(label).collect();
        lines.push(format!("{:>LABEL$} {labels}", shortened(self.by, LABEL)));
        if gpus > 1 {
            let named = self.gpus.iter().take(gpus).enumerate();
            let named: Vec<_> =
                named.map(|(gpu, name)| format!("{} {name}", letter(gpu))).collect();
            let more = match self.gpus.len() - gpus {
                0 => String::new(),
                more => format!(", and {more} more in the table"),
            };
            lines.push(format!("{:>LABEL$} {}{more}", "", named.join(", ")));
        }
        lines.iter().map(|line| shortened(line.trim_end(), screen.width)).collect()
    }

    /// The width of a row's bars, and at least of its label.
    fn cell(&self, gpus: usize) -> usize {
        let labels = self.rows.iter().map(|(values, _)| values.chars().count() + 1);
        labels.max().unwrap_or_default().max(gpus * BAR + 1)
    }

    fn bars(&self, row: usize, gpus: usize, top: u64, unicode: bool) -> String {
        let label = match row {
            0 => shortened(self.name, LABEL),
            row if row == HEIGHT - 1 => top.to_string(),
            _ => String::new(),
        };
        self.line(&label, gpus, |largest, gpu| {
            let share = Bytes(largest[gpu].unwrap_or_default()).share_of(Bytes(top));
            let cell = filled(share * HEIGHT as f64 - row as f64, unicode).unwrap_or(' ');
            String::from_iter([cell, cell])
        })
    }

    /// A line with something for each device in each row.
    fn line(
        &self,
        label: &str,
        gpus: usize,
        part: impl Fn(&[Option<u64>], usize) -> String,
    ) -> String {
        let of_row = |(_, largest): &(String, Vec<Option<u64>>)| {
            let parts = (0..gpus).map(|gpu| format!("{:<BAR$}", part(largest, gpu)));
            format!("{:<1$}", parts.collect::<String>(), self.cell(gpus))
        };
        format!("{label:>LABEL$} {}", self.rows.iter().map(of_row).collect::<String>())
    }
}

/// What stands below the bars of a device.
fn letter(gpu: usize) -> char {
    ['A', 'B', 'C', 'D'][gpu.min(MOST_GPUS - 1)]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chart(gpus: &[&'static str], screen: Screen) -> Vec<String> {
        let row = |length: u64| {
            let largest = (0..gpus.len() as u64).map(|gpu| (64 - 10 * gpu) * 512 / length);
            (
                length.to_string(),
                largest.map(|value| Some(value).filter(|value| *value > 1)).collect(),
            )
        };
        let rows = [512, 1024, 2048, 4096].map(row).to_vec();
        FrontierChart { name: "batch", by: "seq", gpus: gpus.to_vec(), rows }.lines(screen)
    }

    #[test]
    fn each_device_has_a_bar_in_each_row() {
        let lines = chart(&["L4", "T4"], Screen { width: 80, unicode: true });
        assert_eq!(
            lines,
            [
                "         64 ██ ▁▁",
                "            ██ ██",
                "            ██ ██",
                "            ██ ██  ██ ▄▄",
                "            ██ ██  ██ ██  ▄▄ ▂▂",
                "      batch ██ ██  ██ ██  ██ ██  ▆▆ ▅▅",
                "            A  B   A  B   A  B   A  B",
                "        seq 512    1024   2048   4096",
                "            A L4, B T4",
            ]
        );
    }

    #[test]
    fn what_has_no_room_is_left_to_the_table() {
        let narrow = chart(&["L4", "T4"], Screen { width: 38, unicode: false });
        assert!(narrow.iter().all(|line| line.is_ascii() && line.chars().count() <= 38));
        assert_eq!(narrow.len(), 7, "{narrow:?}");
        assert!(chart(&["L4"], Screen { width: 20, unicode: true }).is_empty());
        let many = chart(&["A", "B", "C", "D", "E"], Screen { width: 120, unicode: true });
        assert!(many.last().is_some_and(|line| line.ends_with("1 more in the table")));
    }
}
