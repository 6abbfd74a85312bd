//! Pages for people: one HTML file that opens from disk, has no script and asks for nothing.

mod markup;

pub use self::markup::{Attributes, Markup};

const COLOURS: &str = include_str!("html/colours.css");
const STYLE: &str = include_str!("html/page.css");
/// Up to the title. Nothing may be fetched or sent, whatever is named in the page.
const HEAD: &str = "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
    <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
    <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; \
    base-uri 'none'; form-action 'none'\">\n";

/// What is around the sections of a page.
#[derive(Debug, Clone, Copy)]
pub struct Page<'a> {
    /// The title of its window.
    pub title: &'a str,
    /// What it is of, beside the name of this program.
    pub subject: &'a str,
    /// How it was made.
    pub made: &'a str,
    /// Styles that only this page needs.
    pub style: &'static str,
}

impl Page<'_> {
    /// The page with these sections.
    #[must_use]
    pub fn with(&self, sections: impl FnOnce(&mut Markup)) -> String {
        let mut page = Markup::default();
        page.fixed(HEAD);
        page.leaf("title", &[], self.title);
        page.fixed("\n<style>");
        page.fixed(COLOURS);
        page.fixed(STYLE);
        page.fixed(self.style);
        page.fixed("</style>\n</head>\n<body>\n");
        page.element("header", &[], |header| {
            header.leaf("span", &[("class", "brand")], "whyoom");
            header.leaf("span", &[("class", "subject")], self.subject);
        });
        page.element("main", &[], sections);
        page.element("footer", &[], |footer| footer.leaf("p", &[], self.made));
        page.fixed("\n</body>\n</html>\n");
        page.into_text()
    }
}

/// A section of a page.
pub fn section(main: &mut Markup, id: &'static str, inside: impl FnOnce(&mut Markup)) {
    main.element("section", &[("id", id)], inside);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The colours are those of the other report: who changes one changes both.
    #[test]
    #[allow(clippy::disallowed_methods, clippy::unwrap_used, reason = "the checkout's own files")]
    fn colours_are_those_of_the_other_report() {
        let web = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../web/src");
        let theme = std::fs::read_to_string(web.join("style/theme.css")).unwrap();
        let charts = std::fs::read_to_string(web.join("colours.ts")).unwrap();
        let mut compared = 0;
        for line in COLOURS.lines().map(str::trim).filter(|line| line.starts_with("--")) {
            let (name, value) = line.trim_end_matches(';').split_once(": ").unwrap();
            let is_series = name.starts_with("--s") && name.len() == "--s0".len();
            let is_there = if is_series {
                charts.contains(&format!("\"{value}\""))
            } else {
                theme.contains(line)
            };
            assert!(is_there, "{line}");
            compared += 1;
        }
        assert!(compared > 30, "{compared}");
    }
}
