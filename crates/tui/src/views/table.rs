//! The processes.

use ratatui::text::{Line, Span};

use super::OwnLine;
use crate::{
    fitting::{cut, padded, width as columns},
    state::{Entry, Order, Row, State},
    theme::Theme,
    wording,
};

/// A column, but for the command, which has the rest.
struct Column {
    title: &'static str,
    order: Order,
    width: usize,
    right: bool,
    /// It is left out where the table is narrower.
    needs: usize,
    text: fn(&Entry<'_>, u64) -> String,
}

const COLUMNS: [Column; 6] = [
    Column {
        title: "GPU",
        order: Order::Device,
        width: 4,
        right: true,
        needs: 0,
        text: |entry, _| entry.device.device.index.to_string(),
    },
    Column {
        title: "PID",
        order: Order::Pid,
        width: 7,
        right: true,
        needs: 0,
        text: |entry, _| entry.holder.pid.to_string(),
    },
    Column {
        title: "USER",
        order: Order::User,
        width: 8,
        right: false,
        needs: 60,
        text: |entry, _| entry.holder.user.clone().unwrap_or_else(|| "?".to_owned()),
    },
    Column {
        title: "MEMORY",
        order: Order::Memory,
        width: 11,
        right: true,
        needs: 0,
        text: |entry, _| wording::amount(entry.holder.bytes),
    },
    Column {
        title: "AGE",
        order: Order::Age,
        width: 6,
        right: true,
        needs: 70,
        text: |entry, now| {
            entry.holder.started.map_or_else(|| "?".to_owned(), |since| wording::age(since, now))
        },
    },
    Column {
        title: "STATE",
        order: Order::State,
        width: 9,
        right: false,
        needs: 50,
        text: |entry, _| entry.standing().word().to_owned(),
    },
];

/// The heading and at most `page` rows, the selected one among them.
pub(super) fn lines(state: &State, theme: Theme, width: usize, page: usize) -> Vec<OwnLine> {
    let rows = state.rows();
    // The selected row stays in the middle as long as there are rows on both sides.
    let first = state.selected().unwrap_or(0).saturating_sub(page / 2);
    let first = first.min(rows.len().saturating_sub(page));
    let mut lines = vec![heading(state, theme, width)];
    for (place, row) in rows.iter().enumerate().skip(first).take(page) {
        lines.extend(line(state, row, state.selected() == Some(place), theme, width));
    }
    lines.extend(nobody(state, theme, width));
    lines
}

/// The heading and all rows, none selected.
pub(super) fn all(state: &State, theme: Theme, width: usize) -> Vec<OwnLine> {
    let mut lines = vec![heading(state, theme, width)];
    lines.extend(state.rows().iter().filter_map(|row| line(state, row, false, theme, width)));
    lines.extend(nobody(state, theme, width));
    lines
}

fn shown(width: usize) -> impl Iterator<Item = &'static Column> {
    COLUMNS.iter().filter(move |column| width >= column.needs)
}

fn heading(state: &State, theme: Theme, width: usize) -> OwnLine {
    let arrangement = &state.arrangement;
    let marked = |title: &str, order: Order| {
        let mark =
            if arrangement.order == order { theme.order_mark(arrangement.reversed) } else { "" };
        format!("{title}{mark}")
    };
    let mut text = " ".to_owned();
    for column in shown(width) {
        text.push_str(&padded(&marked(column.title, column.order), column.width, column.right));
        text.push(' ');
    }
    text.push_str(&marked("COMMAND", Order::Command));
    Line::styled(cut(&text, width, theme.cut_mark()), theme.strong())
}

fn line(state: &State, row: &Row, selected: bool, theme: Theme, width: usize) -> Option<OwnLine> {
    let entry = state.entry(row)?;
    let now = state.report().map_or(0, |report| report.time);
    let mut spans = vec![Span::raw(if selected { ">" } else { " " })];
    for column in shown(width) {
        let text = cut(&(column.text)(&entry, now), column.width, theme.cut_mark());
        let text = format!("{} ", padded(&text, column.width, column.right));
        let style = if column.order == Order::State {
            theme.standing(entry.standing())
        } else {
            ratatui::style::Style::new()
        };
        spans.push(Span::styled(text, style));
    }
    let used: usize = spans.iter().map(|span| columns(&span.content)).sum();
    let command = command(&entry);
    let command = format!("{}{}", branch(&row.branch, theme), without_folder(&command));
    spans.push(Span::raw(cut(&command, width.saturating_sub(used), theme.cut_mark())));
    let line = Line::from(spans);
    Some(if selected { line.style(theme.selected()) } else { line })
}

/// The folder of the program says least and comes first: the details have it.
fn without_folder(command: &str) -> &str {
    let end = command.find(' ').unwrap_or(command.len());
    match command[..end].rfind('/') {
        Some(slash) if command.starts_with('/') && slash + 1 < end => &command[slash + 1..],
        _ => command,
    }
}

/// The command, or the name that it gave itself.
pub(super) fn command(entry: &Entry<'_>) -> String {
    match (&entry.holder.command, &entry.holder.name) {
        (Some(command), _) => command.clone(),
        (None, Some(name)) => format!("[{name}]"),
        (None, None) => "?".to_owned(),
    }
}

/// The lines of a tree before a command.
fn branch(branch: &[bool], theme: Theme) -> String {
    let (rail, fork, end) =
        if theme.unicode { ("│ ", "├─", "└─") } else { ("| ", "|-", "`-") };
    let Some((last, above)) = branch.split_last() else { return String::new() };
    let mut text = String::new();
    for ended in above {
        text.push_str(if *ended { "  " } else { rail });
    }
    text.push_str(if *last { end } else { fork });
    text
}

/// Why there is no row.
fn nobody(state: &State, theme: Theme, width: usize) -> Option<OwnLine> {
    let report = state.report()?;
    if !state.rows().is_empty() || report.devices.is_empty() {
        return None;
    }
    let text = if state.arrangement.filter.is_empty() {
        " no visible process holds memory"
    } else {
        " no process matches the filter: Esc clears it"
    };
    Some(Line::styled(cut(text, width, theme.cut_mark()), theme.faint()))
}

#[cfg(test)]
mod tests {
    use super::without_folder;

    #[test]
    fn only_the_folder_of_the_program_is_left_out() {
        assert_eq!(without_folder("/usr/bin/python3 /home/a/train.py"), "python3 /home/a/train.py");
        assert_eq!(without_folder("python3 /home/a/train.py"), "python3 /home/a/train.py");
        assert_eq!(without_folder("./train --data /x"), "./train --data /x");
        for odd in ["", "/", "/usr/", "/ x", "日/本"] {
            assert_eq!(without_folder(odd), odd);
        }
    }
}
