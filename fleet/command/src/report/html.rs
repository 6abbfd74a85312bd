//! The report as one HTML file that opens from disk, for an operator and whoever they report to.
//!
//! It has no script and asks for nothing: the chart is SVG, and what a reader can open are `<details>`.

mod about;
mod answer;
mod chart;
mod fixes;
mod tables;
mod weeks;

pub(super) use self::about::About;
use super::figures::Figures;
use whyoom_redact::html::{Markup, Page, section};

/// The page.
pub(crate) fn page(figures: &Figures, about: &About, rows: usize) -> String {
    let subject = about.subject();
    let version = env!("CARGO_PKG_VERSION");
    let page = Page {
        title: &format!("Out of GPU memory: {subject} - whyoom"),
        subject: &subject,
        made: &format!("Made on {} by whyoom-fleet {version}.", about.made),
        style: "",
    };
    page.with(|main| sections(main, figures, about, rows))
}

fn sections(main: &mut Markup, figures: &Figures, about: &About, rows: usize) {
    section(main, "answer", |inside| {
        answer::write(inside, figures, about);
        if let Some(line) = figures.damaged_objects.line() {
            inside.leaf("p", &[("class", "note")], &line);
        }
    });
    if figures.incidents == 0 {
        return;
    }
    section(main, "weeks", |inside| chart::write(inside, figures));
    section(main, "causes", |inside| tables::causes(inside, figures, rows));
    section(main, "whose", |inside| tables::whose(inside, figures, rows));
    section(main, "hours", |inside| answer::hours(inside, figures));
    section(main, "fixes", |inside| fixes::write(inside, figures, rows));
}

#[cfg(test)]
mod tests;
