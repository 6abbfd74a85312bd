//! The tables: of causes, and of whose incidents they are.

use whyoom_redact::html::Markup;

use super::{chart::swatch, weeks::SERIES};
use crate::report::figures::{Figures, Share, Workload};
use crate::report::words::{counted, grouped, percent, share, short};

/// What a column shows of a row.
#[derive(Clone, Copy)]
pub(super) enum Column {
    Name(&'static str),
    /// A name that is a line to paste, or an identifier.
    Code(&'static str),
    Cause(&'static str),
    Count(&'static str),
    /// A bar and its figure.
    Share(&'static str),
}

/// A row of any table.
#[derive(Default)]
pub(super) struct Row {
    pub(super) name: String,
    /// Below the name, smaller.
    pub(super) below: String,
    /// The colour that the chart has for it.
    pub(super) series: Option<usize>,
    pub(super) cause: String,
    pub(super) incidents: u64,
    pub(super) share: Option<f64>,
}

impl Row {
    pub(super) fn of(incidents: u64) -> Self {
        Self { incidents, ..Self::default() }
    }
}

pub(super) fn causes(section: &mut Markup, figures: &Figures, rows: usize) {
    section.leaf("h2", &[], "Causes");
    let columns = [Column::Code("cause"), Column::Count("incidents"), Column::Share("share")];
    let all = figures.causes.iter().enumerate().map(|(index, one)| Row {
        name: short(&one.name),
        below: whyoom_causes::find(&one.name).map_or_else(String::new, |known| known.title.into()),
        series: Some(index.min(SERIES)),
        share: Some(one.share),
        ..Row::of(one.incidents)
    });
    table(section, "Why memory ran out", &columns, all, rows);
    section.element("p", &[("class", "note")], |note| {
        note.leaf("code", &[], "whyoom causes NAME");
        note.text(" explains a cause and what helps.");
    });
}

/// Whose incidents they are.
pub(super) fn whose(section: &mut Markup, figures: &Figures, rows: usize) {
    section.leaf("h2", &[], "Workloads and users");
    let columns =
        [Column::Name("workload, namespace"), Column::Cause("cause"), Column::Count("incidents")];
    known(section, figures, "workload", figures.workloads.iter().map(|one| one.incidents));
    if !figures.workloads.is_empty() {
        let all = figures.workloads.iter().map(workload);
        table(section, "Workloads and their causes", &columns, all, rows);
    }
    known(section, figures, "user", figures.users.iter().map(|one| one.incidents));
    if !figures.users.is_empty() {
        let of = [Column::Name("user"), Column::Count("incidents"), Column::Share("share")];
        table(section, "Users", &of, figures.users.iter().map(user), rows);
    }
    let again: u64 = figures.repeating.iter().map(|one| one.incidents).sum();
    section.leaf("h3", &[], "Repeat offenders");
    let line = format!(
        "The same workload with the same cause, three times or more: {} of {}.",
        counted(again, "incident"),
        counted(figures.repeating.len() as u64, "workload")
    );
    section.leaf("p", &[("id", "repeating")], &line);
    if !figures.repeating.is_empty() {
        let all = figures.repeating.iter().map(workload);
        table(section, "Workloads that failed again and again", &columns, all, rows);
    }
    dirty(section, figures);
}

/// Something that the next job met.
fn dirty(section: &mut Markup, figures: &Figures) {
    section.leaf("h3", &[], "Dirty hand-overs");
    let line = format!(
        "Something was left on the GPU: {} ({}).",
        counted(figures.dirty, "incident"),
        percent(share(figures.dirty, figures.incidents))
    );
    section.leaf("p", &[("id", "dirty")], &line);
    section.leaf(
        "p",
        &[("class", "note")],
        "An orphaned process, a process with a context on a GPU that it does not use, or memory that no visible process \
         accounts for.",
    );
}

fn workload(one: &Workload) -> Row {
    Row {
        name: short(&one.workload),
        below: short(&one.namespace),
        cause: short(&one.cause),
        ..Row::of(one.incidents)
    }
}

fn user(one: &Share) -> Row {
    Row { name: short(&one.name), share: Some(one.share), ..Row::of(one.incidents) }
}

/// Of how many it is known.
fn known(
    section: &mut Markup,
    figures: &Figures,
    what: &str,
    incidents: impl Iterator<Item = u64>,
) {
    let (known, all) = (incidents.sum::<u64>(), counted(figures.incidents, "incident"));
    let line = format!("The {what} is known of {} of {all}.", grouped(known));
    section.leaf("p", &[("class", "note")], &line);
}

/// A table, which says so where it does not show all rows.
pub(super) fn table(
    section: &mut Markup,
    caption: &str,
    columns: &[Column],
    all: impl ExactSizeIterator<Item = Row>,
    rows: usize,
) {
    let count = all.len();
    section.element("table", &[], |table| {
        table.element("caption", &[], |inside| {
            inside.leaf("span", &[("class", "name")], caption);
            if count > rows {
                let shown = grouped(rows as u64);
                let part = format!("the first {shown} of {} rows", grouped(count as u64));
                inside.leaf("span", &[("class", "part")], &part);
            }
        });
        table.element("thead", &[], |head| {
            head.element("tr", &[], |row| columns.iter().for_each(|one| heading(row, *one)));
        });
        table.element("tbody", &[], |body| {
            for one in all.take(rows) {
                body.element("tr", &[], |row| {
                    columns.iter().for_each(|column| cell(row, *column, &one));
                });
            }
        });
    });
}

fn heading(row: &mut Markup, column: Column) {
    let (class, text) = match column {
        Column::Name(text) | Column::Code(text) => ("name", text),
        Column::Cause(text) => ("cause", text),
        Column::Count(text) => ("count", text),
        Column::Share(text) => ("share", text),
    };
    row.leaf("th", &[("scope", "col"), ("class", class)], text);
}

fn cell(row: &mut Markup, column: Column, one: &Row) {
    match column {
        Column::Name(_) => row.element("th", &[("scope", "row")], |cell| {
            cell.leaf("span", &[("class", "name")], &one.name);
            below(cell, one);
        }),
        Column::Code(_) => row.element("th", &[("scope", "row")], |cell| {
            one.series.into_iter().for_each(|series| swatch(cell, series));
            cell.leaf("code", &[("class", "name")], &one.name);
            below(cell, one);
        }),
        Column::Cause(_) => row.element("td", &[("class", "cause")], |cell| {
            cell.leaf("code", &[], &one.cause);
        }),
        Column::Count(_) => row.leaf("td", &[("class", "count")], &grouped(one.incidents)),
        Column::Share(_) => row.element("td", &[("class", "share")], |cell| {
            let share = one.share.unwrap_or_default();
            cell.leaf("span", &[], &percent(share));
            bar(cell, share);
        }),
    }
}

fn below(cell: &mut Markup, one: &Row) {
    if !one.below.is_empty() {
        cell.leaf("span", &[("class", "below")], &one.below);
    }
}

fn bar(cell: &mut Markup, share: f64) {
    let width = format!("{:.2}%", 100.0 * share);
    cell.element("svg", &[("class", "bar"), ("aria-hidden", "true")], |bar| {
        bar.leaf("rect", &[("class", "fill"), ("width", &width), ("height", "100%")], "");
    });
}
