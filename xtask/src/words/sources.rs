//! The files that are read, each as one line of words.

use std::process::Command;

use anyhow::{Context, Result};
use harness::root;

/// Kinds of files that people read or write.
const KINDS: [&str; 6] = ["rs", "md", "py", "ts", "hpp", "toml"];

/// Other people's words and the pages that tell of their cases, what was true once, the table of this command itself.
const LEFT_OUT: [&str; 6] = [
    "tests/fixtures/",
    "tests/scenarios/",
    "crates/sources/tests/",
    "CHANGELOG.md",
    "docs/dev/evidence/score.md",
    "xtask/src/words/",
];

/// One file.
pub(super) struct Source {
    /// Below the checkout.
    pub(super) path: String,
    /// The text in lower case, with line breaks, comment marks and indentation as one space each. Whatever is not
    /// ASCII is a `?`.
    pub(super) lowercase: String,
    /// Where each line begins in it.
    lines: Vec<usize>,
    /// The lines of a Rust file without comments and strings.
    pub(super) code: Vec<String>,
}

impl Source {
    pub(super) fn new(path: &str, text: &str) -> Self {
        let (mut flat, mut lines) = (String::new(), Vec::new());
        for line in text.lines() {
            lines.push(flat.len());
            let line = line.trim().trim_start_matches(['/', '!', '*', '>', '#']).trim();
            let line = line.strip_suffix('\\').unwrap_or(line).trim_end();
            flat.extend(line.chars().map(|sign| if sign.is_ascii() { sign } else { '?' }));
            flat.push(' ');
        }
        let lowercase = flat.to_ascii_lowercase();
        let is_rust = path.ends_with(".rs");
        let code = text.lines().filter(|_| is_rust).map(code_of).collect();
        Self { path: path.to_owned(), lowercase, lines, code }
    }

    /// The number of the line at this byte, from 1.
    pub(super) fn line_at(&self, at: usize) -> usize {
        self.lines.partition_point(|start| *start <= at)
    }
}

/// A line without its comment and its strings: nearly, and never more than the line has.
fn code_of(line: &str) -> String {
    let line = line.split("//").next().unwrap_or_default();
    line.split('"').step_by(2).collect::<Vec<_>>().join("\"")
}

/// Every file that git keeps and the table is about.
pub(super) fn sources() -> Result<Vec<Source>> {
    let listed = Command::new("git").args(["ls-files", "-z"]).current_dir(root()).output()?;
    let listed = String::from_utf8(listed.stdout).context("a path that is not UTF-8")?;
    let wanted = |path: &&str| {
        let kind = path.rsplit('.').next().unwrap_or_default();
        KINDS.contains(&kind) && !LEFT_OUT.iter().any(|left_out| path.starts_with(left_out))
    };
    let paths: Vec<&str> = listed.split('\0').filter(wanted).collect();
    anyhow::ensure!(!paths.is_empty(), "git lists no file in {}", root().display());
    // A file that git lists may have been deleted since.
    let there = paths.into_iter().filter(|path| root().join(path).exists());
    there
        .map(|path| {
            let text = std::fs::read_to_string(root().join(path));
            Ok(Source::new(path, &text.with_context(|| format!("{path} cannot be read"))?))
        })
        .collect()
}
