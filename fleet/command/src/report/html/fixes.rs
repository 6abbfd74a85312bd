//! What would have helped, and what that does not say.

use whyoom_redact::html::Markup;

use super::tables::{Column, Row, table};
use crate::report::figures::Figures;
use crate::report::words::{counted, grouped, percent, share, short, short_line};

pub(super) fn write(section: &mut Markup, figures: &Figures, rows: usize) {
    section.leaf("h2", &[], "Fixes");
    settings(section, figures, rows);
    remedies(section, figures, rows);
}

/// What a setting is, where this version knows it.
pub(super) fn about_setting(name: &str) -> Option<&'static str> {
    let known = whyoom_allocators::catalogue::CATALOGUE.iter().find(|entry| entry.id == name);
    known.map(|entry| entry.about)
}

fn settings(section: &mut Markup, figures: &Figures, rows: usize) {
    let (with_history, all) = (figures.with_history, figures.incidents);
    if with_history == 0 {
        section.leaf(
            "p",
            &[("class", "caveat")],
            "No incident has a history of allocations, so no setting could be tried by replay. Record with whyoom run, \
             or let frameworks write snapshots.",
        );
        return;
    }
    let of = format!(
        "{} of {} ({}) have a history of allocations, on which settings were tried by replay.",
        grouped(with_history),
        counted(all, "incident"),
        percent(share(with_history, all))
    );
    section.leaf("p", &[], &of);
    if figures.served_by.is_empty() {
        let none = "No setting that was tried by replay would have served a request that failed.";
        section.leaf("p", &[("class", "caveat")], none);
        return;
    }
    let caption = "Settings that would have served the request that failed";
    let columns = [Column::Code("setting"), Column::Count("incidents"), Column::Share("share")];
    let all = figures.served_by.iter().map(|one| Row {
        name: short(&one.name),
        below: about_setting(&one.name).unwrap_or_default().to_owned(),
        share: Some(one.share),
        ..Row::of(one.incidents)
    });
    table(section, caption, &columns, all, rows);
    section.leaf(
        "p",
        &[("class", "caveat")],
        "Shares are of the incidents with a history, and one incident may be in several rows. Served means that the \
         request that failed would have been served, up to that moment of the run: what the run would have needed \
         afterwards is not known. Nothing is said of the incidents without a history, which may be of another kind.",
    );
}

fn remedies(section: &mut Markup, figures: &Figures, rows: usize) {
    if figures.remedies.is_empty() {
        return;
    }
    let columns = [Column::Code("first fix"), Column::Count("incidents"), Column::Share("share")];
    let all = figures.remedies.iter().map(|one| Row {
        name: short_line(&one.name),
        share: Some(one.share),
        ..Row::of(one.incidents)
    });
    table(section, "Fixes that were shown", &columns, all, rows);
    section.leaf(
        "p",
        &[("class", "note")],
        "How often a fix came first in the verdict, of all incidents; not whether somebody applied it.",
    );
}
