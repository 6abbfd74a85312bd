//! The answer as one HTML file that opens from disk: without a script, and it asks for nothing.

use std::io::{self, Write};

use whyoom_redact::{
    Paths,
    html::{Markup, Page, section},
    terminal::{Column, Table},
};
use whyoom_trace::Bytes;

use super::{
    answer::{FitAnswer, FitPeak, FitVary},
    headline::qualified,
    plot,
    tables::{frontier_table, generation_table, largest_table, table},
};

const STYLE: &str = include_str!("page.css");

/// What a page shows.
pub struct FitPage<'a> {
    /// The answer.
    pub answer: &'a FitAnswer,
    /// The command that made the page, without secrets.
    pub made_with: String,
    /// What is left out of paths.
    pub paths: Paths,
}

impl FitPage<'_> {
    /// What who opens it sees of the run and of the machine, in words.
    #[must_use]
    pub fn contents(&self) -> Vec<String> {
        vec!["the command line, secrets masked".to_owned(), "source files and lines".to_owned()]
    }

    /// Writes the page.
    ///
    /// # Errors
    /// When `out` cannot be written to.
    pub fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        let command = self.shown(&self.answer.command);
        let page = Page {
            title: &format!("Does it fit? {command} - whyoom"),
            subject: &command,
            made: &format!("Made by whyoom {}.", env!("CARGO_PKG_VERSION")),
            style: STYLE,
        };
        out.write_all(page.with(|main| self.sections(main)).as_bytes())
    }

    fn shown(&self, text: &str) -> String {
        self.paths.shorten(text).into_owned()
    }

    fn sections(&self, main: &mut Markup) {
        section(main, "answer", |inside| self.write_answer(inside));
        if let Some(vary) = &self.answer.vary {
            section(main, "curve", |inside| write_vary(inside, vary));
        }
        if let Some(frontier) = &self.answer.frontier {
            section(main, "frontier", |inside| {
                inside.leaf("h2", &[], &format!("{} by {}", frontier.name, frontier.by.join(", ")));
                plot::frontier(inside, frontier);
                write_table(inside, &frontier_table(frontier));
            });
        }
        if let Some(generation) = &self.answer.generation {
            section(main, "generation", |inside| {
                inside.leaf("h2", &[], "New tokens");
                write_table(inside, &generation_table(generation));
            });
        }
        if let Some(peak) = self.answer.peaks.first() {
            section(main, "peak", |inside| self.write_peak(inside, peak));
        }
        section(main, "confidence", |inside| self.write_notes(inside));
    }

    fn write_answer(&self, inside: &mut Markup) {
        inside.leaf("h1", &[], &self.shown(&qualified(self.answer)));
        if !self.answer.gpus.is_empty() {
            write_table(inside, &table(&self.answer.gpus));
        }
        for assertion in &self.answer.assertions {
            let holds = if assertion.holds { "holds" } else { "does not hold" };
            let line = format!("assert {}: {holds} ({})", assertion.text, assertion.found);
            inside.leaf("p", &[], &line);
        }
        inside.leaf("p", &[("class", "note")], "Made with");
        inside.leaf("pre", &[], &self.shown(&self.made_with));
    }

    fn write_peak(&self, inside: &mut Markup, peak: &FitPeak) {
        inside.leaf("h2", &[], "At the peak");
        inside.leaf("p", &[], &self.shown(&format!("Reached by {}", peak.place)));
        // Each of these tables is a view of the same memory: rows of two of them do not add up.
        let views = [
            ("By kind", &peak.kinds),
            ("By module", &peak.modules),
            ("By line of the program", &peak.places),
        ];
        for (heading, amounts) in views.into_iter().filter(|(_, amounts)| !amounts.is_empty()) {
            inside.leaf("h3", &[], heading);
            let mut table = Table::new([Column::numbers("memory"), Column::words("of")]);
            for amount in amounts {
                table.row([Bytes(amount.bytes).to_string(), self.shown(&amount.name)]);
            }
            write_table(inside, &table);
        }
    }

    fn write_notes(&self, inside: &mut Markup) {
        inside.leaf("h2", &[], "Confidence");
        inside.element("ul", &[("class", "notes")], |list| {
            for note in &self.answer.notes {
                list.element("li", &[], |item| {
                    item.leaf("b", &[], note.kind);
                    item.text(&format!(": {}", self.shown(&note.text)));
                });
            }
        });
    }
}

fn write_vary(inside: &mut Markup, vary: &FitVary) {
    inside.leaf("h2", &[], &format!("Peak reserved by {}", vary.name));
    plot::curve(inside, vary);
    write_table(inside, &largest_table(vary));
    inside.element("details", &[], |details| {
        details.leaf("summary", &[], "All values as a table");
        let headings = [Column::numbers(&vary.name), Column::numbers("peak reserved")];
        let mut table = Table::new(headings.into_iter().chain([Column::words("determined by")]));
        for point in &vary.curve {
            let how = if vary.runs.contains(&point.value) { "run" } else { "computed" };
            let peak = Bytes(point.peak_reserved_bytes).to_string();
            table.row([point.value.to_string(), peak, how.to_owned()]);
        }
        write_table(details, &table);
    });
}

/// A table with all of its columns: a page can be moved sideways.
fn write_table(parent: &mut Markup, table: &Table) {
    let (columns, rows) = table.whole();
    let class = |column: &Column| if column.has_numbers() { "number" } else { "words" };
    parent.element("div", &[("class", "wide-table")], |scrolled| {
        scrolled.element("table", &[], |table| {
            table.element("thead", &[], |head| {
                head.element("tr", &[], |line| {
                    for column in columns {
                        line.leaf("th", &[("class", class(column))], column.heading());
                    }
                });
            });
            table.element("tbody", &[], |body| {
                for row in rows {
                    body.element("tr", &[], |line| {
                        for (column, cell) in columns.iter().zip(row) {
                            line.leaf("td", &[("class", class(column))], cell);
                        }
                    });
                }
            });
        });
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fit::answer::{
        FitAmount, FitFrontier, FitFrontierRow, FitLargest, FitNote, FitPoint,
    };

    const HOSTILE: &str =
        "</pre></table><script>alert(1)</script><img src=x onerror='a()'>\"\u{202e}";
    const GIB: u64 = 1 << 30;

    fn largest(gpu: &'static str, value: Option<u64>) -> FitLargest {
        FitLargest {
            gpu,
            room_bytes: 14 * GIB,
            value,
            peak_reserved_bytes: value.map(|value| value * GIB),
            releases_cache: false,
            run: true,
            confirmed: true,
            implied: false,
            is_last: false,
        }
    }

    fn vary(name: &str) -> FitVary {
        let point = |value| FitPoint { value, peak_reserved_bytes: value * GIB };
        FitVary {
            name: name.to_owned(),
            largest: vec![largest("Tesla T4", Some(14)), largest("NVIDIA L4", None)],
            curve: (1..=32).map(point).collect(),
            runs: vec![8, 16],
            predicts_runs: true,
        }
    }

    fn frontier(name: &str) -> FitFrontier {
        let row = |length: u64| FitFrontierRow {
            values: vec![length],
            largest: vec![largest("Tesla T4", Some(4096 / length)), largest("NVIDIA L4", None)],
            runs: vec![8],
        };
        FitFrontier {
            name: name.to_owned(),
            by: vec![name.to_owned()],
            rows: [512, 1024, 2048].map(row).into(),
            runs: 10,
            predicts_runs: true,
        }
    }

    fn page(name: &str, vary: Option<FitVary>, frontier: Option<FitFrontier>) -> String {
        let amount = || FitAmount { name: name.to_owned(), bytes: GIB };
        let peak = FitPeak {
            lines: Vec::new(),
            modules: Vec::new(),
            ran_on: "Tesla T4",
            rank: name.to_owned(),
            place: name.to_owned(),
            kinds: vec![amount()],
            places: vec![amount()],
        };
        let answer = FitAnswer {
            command: name.to_owned(),
            gpus: Vec::new(),
            peaks: vec![peak],
            vary,
            frontier,
            generation: None,
            growth_bytes_per_step: 0,
            stopped_after_steps: None,
            assertions: Vec::new(),
            notes: vec![FitNote { kind: "care", text: name.to_owned() }],
        };
        let page = FitPage {
            answer: &answer,
            made_with: format!("whyoom fit -- {name} /home/alice/train.py"),
            paths: Paths::default(),
        };
        let mut out = Vec::new();
        page.write(&mut out).expect("memory");
        String::from_utf8(out).expect("text")
    }

    #[test]
    fn no_name_is_markup() {
        let hostile = [
            page(HOSTILE, Some(vary(HOSTILE)), None),
            page(HOSTILE, None, Some(frontier(HOSTILE))),
        ];
        for page in hostile {
            for forbidden in ["<script", "<img", "onerror='", "\u{202e}", "alert(1)</"] {
                assert!(!page.contains(forbidden), "{forbidden}");
            }
            // Title and header, sentence, command, chart, tables, peak and notes.
            assert!(page.matches("&lt;script&gt;").count() > 9, "{page}");
            assert_eq!(page.matches("<h1>").count(), 1);
        }
    }

    #[test]
    fn views_of_the_same_memory_have_headings() {
        let page = page("python train.py", None, None);
        let headings = ["<h3>By kind</h3>", "<h3>By line of the program</h3>"];
        assert!(headings.iter().all(|heading| page.contains(heading)), "{page}");
        assert!(!page.contains("By module"), "there are none");
    }

    #[test]
    fn nothing_is_fetched() {
        let page = page("python train.py", Some(vary("batch")), Some(frontier("batch")));
        assert!(page.contains("content=\"default-src 'none'; style-src 'unsafe-inline';"));
        for forbidden in ["http:", "https:", "url(", "@import", "src=", "<script", "<link"] {
            assert!(!page.contains(forbidden), "{forbidden}");
        }
    }

    #[test]
    fn a_page_tells_what_was_run_from_what_was_computed() {
        let page = page("python train.py", Some(vary("batch")), None);
        assert_eq!(page.matches("<circle class=\"run\"").count(), 2);
        assert_eq!(page.matches("<circle class=\"computed\"").count(), 30);
        assert!(
            page.contains("batch 8: 8.00 GiB, run") && page.contains("batch 9: 9.00 GiB, computed")
        );
        // One limit for each device, and a break where something fits.
        assert_eq!(page.matches("class=\"limit ").count(), 2);
        assert_eq!(page.matches("class=\"break ").count(), 1);
        assert!(page.contains("~/train.py") && !page.contains("alice"));
    }
}
