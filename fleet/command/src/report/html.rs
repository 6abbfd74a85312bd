//! The report as one HTML file that opens from disk, for an operator and whoever they report to.
//!
//! It has no script and asks for nothing: the chart is SVG, and what a reader can open are `<details>`.

mod about;
mod answer;
mod chart;
mod fixes;
mod markup;
mod tables;
mod weeks;

pub(super) use self::about::About;
use self::markup::Markup;
use super::figures::Figures;

const COLOURS: &str = include_str!("html/colours.css");
const STYLE: &str = include_str!("html/page.css");
/// Up to the title. Nothing may be fetched or sent, whatever a workload is called.
const HEAD: &str = "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
    <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
    <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; \
    base-uri 'none'; form-action 'none'\">\n";

/// The page.
pub(crate) fn page(figures: &Figures, about: &About, rows: usize) -> String {
    let mut page = Markup::default();
    let subject = about.subject();
    page.fixed(HEAD);
    page.leaf("title", &[], &format!("Out of GPU memory: {subject} - whyoom"));
    page.fixed("\n<style>");
    page.fixed(COLOURS);
    page.fixed(STYLE);
    page.fixed("</style>\n</head>\n<body>\n");
    page.element("header", &[], |header| {
        header.leaf("span", &[("class", "brand")], "whyoom");
        header.leaf("span", &[("class", "subject")], &subject);
    });
    page.element("main", &[], |main| sections(main, figures, about, rows));
    page.element("footer", &[], |footer| {
        let version = env!("CARGO_PKG_VERSION");
        footer.leaf("p", &[], &format!("Made on {} by whyoom-fleet {version}.", about.made));
    });
    page.fixed("\n</body>\n</html>\n");
    page.into_text()
}

fn sections(main: &mut Markup, figures: &Figures, about: &About, rows: usize) {
    section(main, "answer", |inside| answer::write(inside, figures, about));
    if figures.incidents == 0 {
        return;
    }
    section(main, "weeks", |inside| chart::write(inside, figures));
    section(main, "causes", |inside| tables::causes(inside, figures, rows));
    section(main, "whose", |inside| tables::whose(inside, figures, rows));
    section(main, "hours", |inside| answer::hours(inside, figures));
    section(main, "fixes", |inside| fixes::write(inside, figures, rows));
}

fn section(main: &mut Markup, id: &str, inside: impl FnOnce(&mut Markup)) {
    main.element("section", &[("id", id)], inside);
}

#[cfg(test)]
mod tests;
