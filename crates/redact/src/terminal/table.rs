//! A table that stays a table on a narrow terminal: columns that matter less go first, and where even the rest is too
//! wide, each row takes two lines.

use unicode_width::UnicodeWidthStr;

/// Between two columns.
const GAP: &str = "  ";
/// Where something is missing.
const CUT: char = '…';

/// A column.
#[derive(Debug, Clone)]
pub struct Column {
    heading: String,
    right: bool,
    /// 0 stays; of the others the highest goes first.
    expendable: u8,
    wraps: bool,
}

impl Column {
    /// Words, which begin on the left.
    #[must_use]
    pub fn words(heading: impl Into<String>) -> Self {
        Self { heading: heading.into(), right: false, expendable: 0, wraps: false }
    }

    /// Numbers, which end on the right.
    #[must_use]
    pub fn numbers(heading: impl Into<String>) -> Self {
        Self { right: true, ..Self::words(heading) }
    }

    /// It is left out where room is short; those with the highest number first.
    #[must_use]
    pub fn expendable(self, order: u8) -> Self {
        Self { expendable: order, ..self }
    }

    /// Its cells continue on another line after a comma where room is short.
    #[must_use]
    pub fn wraps(self) -> Self {
        Self { wraps: true, ..self }
    }

    /// What stands above it.
    #[must_use]
    pub fn heading(&self) -> &str {
        &self.heading
    }

    /// Whether it has numbers, which end on the right.
    #[must_use]
    pub fn has_numbers(&self) -> bool {
        self.right
    }

    fn cell(&self, text: &str, width: usize) -> String {
        let fill = " ".repeat(width.saturating_sub(display_width(text)));
        if self.right { format!("{fill}{text}") } else { format!("{text}{fill}") }
    }
}

/// Columns and their rows.
#[derive(Debug, Clone, Default)]
pub struct Table {
    columns: Vec<Column>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// A table without rows.
    #[must_use]
    pub fn new(columns: impl IntoIterator<Item = Column>) -> Self {
        Self { columns: columns.into_iter().collect(), rows: Vec::new() }
    }

    /// Adds a row: a cell for each column.
    pub fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        let mut cells: Vec<String> = cells.into_iter().collect();
        cells.resize(self.columns.len(), String::new());
        self.rows.push(cells);
    }

    /// All columns, and the cells of each row, for what is not a terminal.
    #[must_use]
    pub fn whole(&self) -> (&[Column], &[Vec<String>]) {
        (&self.columns, &self.rows)
    }

    /// The heading and the rows, none wider than `width`. Nothing in it is safe to show that was not when it was put in.
    #[must_use]
    pub fn lines(&self, width: usize) -> Vec<String> {
        let all: Vec<usize> = (0..self.columns.len()).collect();
        if self.width(&all, false) <= width {
            return self.laid_out(&all, false);
        }
        let mut shown = all;
        while self.width(&shown, true) > width {
            let Some(least) = self.least(&shown) else {
                return self.stacked(&shown, width);
            };
            shown.retain(|column| *column != least);
        }
        let split = self.width(&shown, false) > width;
        self.laid_out(&shown, split)
    }

    /// The column that matters least, of those that may go.
    fn least(&self, shown: &[usize]) -> Option<usize> {
        let may_go = shown.iter().copied().filter(|column| self.columns[*column].expendable > 0);
        may_go.max_by_key(|column| self.columns[*column].expendable)
    }

    fn width(&self, shown: &[usize], split: bool) -> usize {
        let columns: usize = shown.iter().map(|column| self.column_width(*column, split)).sum();
        columns + GAP.len() * shown.len().saturating_sub(1)
    }

    fn column_width(&self, column: usize, split: bool) -> usize {
        let cells = self.rows.iter().flat_map(|row| self.parts(column, &row[column], split));
        let heading = display_width(&self.columns[column].heading);
        cells.map(display_width).max().unwrap_or(0).max(heading)
    }

    /// The lines of a cell.
    fn parts<'a>(&self, column: usize, cell: &'a str, split: bool) -> Vec<&'a str> {
        match self.columns[column].wraps && split {
            true => cell.split_inclusive(',').map(str::trim).collect(),
            false => vec![cell],
        }
    }

    fn laid_out(&self, shown: &[usize], split: bool) -> Vec<String> {
        let headings = shown.iter().map(|column| vec![self.columns[*column].heading.as_str()]);
        let headings: Vec<Vec<&str>> = headings.collect();
        let row = |row: &'_ Vec<String>| {
            let cells = shown.iter().map(|column| self.parts(*column, &row[*column], split));
            self.row_lines(shown, &cells.collect::<Vec<_>>(), split)
        };
        let heading = self.row_lines(shown, &headings, split);
        heading.into_iter().chain(self.rows.iter().flat_map(row)).collect()
    }

    /// A row, in as many lines as its longest cell has.
    fn row_lines(&self, shown: &[usize], cells: &[Vec<&str>], split: bool) -> Vec<String> {
        let height = cells.iter().map(Vec::len).max().unwrap_or(1);
        let line = |number: usize| {
            let texts = shown.iter().zip(cells).map(|(column, parts)| {
                let text = parts.get(number).copied().unwrap_or_default();
                self.columns[*column].cell(text, self.column_width(*column, split))
            });
            texts.collect::<Vec<_>>().join(GAP).trim_end().to_owned()
        };
        (0..height).map(line).collect()
    }

    /// The first column on a line of its own, the others below it.
    fn stacked(&self, shown: &[usize], width: usize) -> Vec<String> {
        let Some((first, rest)) = shown.split_first() else { return Vec::new() };
        let below = |text: &dyn Fn(usize) -> String| {
            let cells = rest.iter().map(|column| {
                self.columns[*column].cell(&text(*column), self.column_width(*column, true))
            });
            format!("{GAP}{}", cells.collect::<Vec<_>>().join(GAP)).trim_end().to_owned()
        };
        let heading = |column: usize| self.columns[column].heading.clone();
        let mut lines = vec![heading(*first), below(&heading)];
        for row in &self.rows {
            lines.extend(self.parts(*first, &row[*first], true).into_iter().map(str::to_owned));
            lines.push(below(&|column| row[column].clone()));
        }
        lines.retain(|line| !line.is_empty());
        lines.into_iter().map(|line| shortened(&line, width)).collect()
    }
}

/// The columns of a terminal that it takes.
fn display_width(text: &str) -> usize {
    text.width()
}

/// At most so many columns of a terminal, the last of them a sign that there was more.
#[must_use]
pub fn shortened(text: &str, width: usize) -> String {
    if display_width(text) <= width {
        return text.to_owned();
    }
    let mut kept = String::new();
    for letter in text.chars() {
        if display_width(&kept) + display_width(letter.encode_utf8(&mut [0; 4])) >= width {
            break;
        }
        kept.push(letter);
    }
    kept.push(CUT);
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        let mut table = Table::new([
            Column::words("allocator").wraps(),
            Column::numbers("peak"),
            Column::numbers("calls").expendable(2),
            Column::numbers("time").expendable(1),
            Column::words("fits"),
        ]);
        for cells in [
            ["native", "3.68 GiB", "17", "1.6 ms", "no"],
            ["one_setting:128,another_setting:8", "820.00 MiB", "4,145", "192.9 ms", "yes"],
        ] {
            table.row(cells.map(str::to_owned));
        }
        table
    }

    #[test]
    fn numbers_end_on_the_right() {
        assert_eq!(
            table().lines(80),
            [
                "allocator                                peak  calls      time  fits",
                "native                               3.68 GiB     17    1.6 ms  no",
                "one_setting:128,another_setting:8  820.00 MiB  4,145  192.9 ms  yes",
            ]
        );
    }

    #[test]
    fn what_matters_least_goes_first() {
        assert_eq!(
            table().lines(60),
            [
                "allocator                peak  calls      time  fits",
                "native               3.68 GiB     17    1.6 ms  no",
                "one_setting:128,   820.00 MiB  4,145  192.9 ms  yes",
                "another_setting:8",
            ]
        );
        assert_eq!(table().lines(50)[1], "native               3.68 GiB    1.6 ms  no");
        assert_eq!(table().lines(36)[1], "native               3.68 GiB  no");
    }

    #[test]
    fn where_nothing_else_helps_a_row_takes_two_lines() {
        assert_eq!(
            table().lines(24),
            [
                "allocator",
                "        peak  fits",
                "native",
                "    3.68 GiB  no",
                "one_setting:128,",
                "another_setting:8",
                "  820.00 MiB  yes",
            ]
        );
    }

    #[test]
    fn no_line_is_wider_than_the_terminal() {
        for width in 1..100 {
            for line in table().lines(width) {
                assert!(display_width(&line) <= width, "{width}: {line}");
            }
        }
        assert_eq!(shortened("日本語", 4), "日…");
        assert_eq!(Table::default().lines(10), [""; 1]);
    }
}
