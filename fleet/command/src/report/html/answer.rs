//! The answer in one sentence, and what it cost.

use whyoom_redact::html::Markup;

use super::{about::About, fixes::about_setting};
use crate::report::figures::{Figures, Share};
use crate::report::words::{counted, grouped, grouped_tenths, percent, share, short};

pub(super) fn write(section: &mut Markup, figures: &Figures, about: &About) {
    let Some(cause) = figures.causes.first() else {
        section.leaf("h1", &[], "No incident in these days");
        section.leaf("p", &[("class", "note")], &format!("{}.", about.days()));
        return;
    };
    section.leaf("h1", &[], &sentence(figures, cause));
    if let Some(known) = whyoom_causes::find(&cause.name) {
        section.element("p", &[], |line| {
            line.leaf("code", &[], known.id);
            line.text(&format!(": {}.", known.title));
        });
    }
    if let Some(best) = figures.served_by.first()
        && let Some(about) = about_setting(&best.name)
    {
        section.element("p", &[], |line| {
            line.leaf("code", &[], &short(&best.name));
            line.text(&format!(": {about}. "));
            line.element("a", &[("href", "#fixes")], |link| {
                link.text("What this does not say");
            });
        });
    }
    section.leaf("p", &[("class", "note")], &days(figures, about));
}

fn sentence(figures: &Figures, cause: &Share) -> String {
    let incidents = counted(figures.incidents, "incident");
    let nodes = counted(figures.nodes, "node");
    let (cause, often) = (short(&cause.name), percent(cause.share));
    format!(
        "{incidents} on {nodes}; the most frequent cause is {cause} ({often}); {}",
        setting(figures)
    )
}

fn setting(figures: &Figures) -> String {
    if figures.with_history == 0 {
        return "none has a history, so no setting could be tried".to_owned();
    }
    let with_history = grouped(figures.with_history);
    match figures.served_by.first() {
        Some(best) => format!(
            "setting {} would have served {} of those {with_history} with a history",
            short(&best.name),
            percent(best.share)
        ),
        None => {
            format!("no setting would have served one of those {with_history} with a history")
        }
    }
}

fn days(figures: &Figures, about: &About) -> String {
    let weeks = match &figures.weeks[..] {
        [] => String::new(),
        [one] => format!(": incidents in the week of {}", one.monday),
        [first, .., last] => {
            format!(": incidents from the week of {} to that of {}", first.monday, last.monday)
        }
    };
    format!("{}{weeks}, in UTC.", about.days())
}

/// What the runs that ended so may have cost.
pub(super) fn hours(section: &mut Markup, figures: &Figures) {
    let (known, all) = (figures.gpu_hours_known_of, figures.incidents);
    section.leaf("h2", &[], "GPU-hours");
    if known == 0 {
        section.leaf(
            "p",
            &[],
            "Not known: of no incident are both the start of the run and its GPUs known.",
        );
        return;
    }
    let hours = figures.gpu_hours_at_most;
    section.element("p", &[("class", "figure")], |line| {
        line.text("at most ");
        line.leaf("b", &[("id", "gpu-hours")], &grouped_tenths(hours));
        line.text(" GPU-hours");
    });
    section.leaf(
        "p",
        &[],
        &format!(
            "Known of {} of {} ({}); of the others there is no estimate, and they are not in it.",
            grouped(known),
            counted(all, "incident"),
            percent(share(known, all))
        ),
    );
    section.leaf(
        "p",
        &[("class", "note")],
        "An upper bound: the time from the start of a run's first process that held GPU memory to the incident, on all \
         GPUs that the run was seen on. What a checkpoint saved is not subtracted.",
    );
}
