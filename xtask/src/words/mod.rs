//! `cargo xtask words`: retired names and phrases stay out of the code, the output and the documentation.
//!
//! The table says what to write instead. A name is an identifier of the Rust sources; a phrase is looked for in
//! everything that people read: documentation, strings and comments, across line breaks.

mod retired;
mod sources;

use anyhow::{Result, bail};
use harness::Held;

use retired::{NAMES, PHRASES, Retired};
use sources::{Source, sources};

pub(crate) fn run() -> Result<Held> {
    let sources = sources()?;
    let found: Vec<String> = sources
        .iter()
        .flat_map(|source| {
            let names = NAMES.iter().flat_map(|retired| names(source, retired));
            names.chain(PHRASES.iter().flat_map(|retired| phrases(source, retired)))
        })
        .collect();
    found.iter().for_each(|line| println!("{line}"));
    if !found.is_empty() {
        bail!("{} retired names and phrases are in use again", found.len());
    }
    Ok(Held::new(format!(
        "{} retired names and {} retired phrases in none of {} files",
        NAMES.len(),
        PHRASES.len(),
        sources.len()
    )))
}

/// The uses of an identifier: where each is, and what to write.
fn names(source: &Source, retired: &Retired) -> Vec<String> {
    let lines = source.code.iter().zip(1..);
    let lines = lines.filter(|_| source.path.starts_with(retired.below));
    let used = lines.filter(|(line, _)| !uses(line, retired.old).is_empty());
    used.map(|(_, number)| line(source, number, retired)).collect()
}

/// The uses of a phrase, in any case.
fn phrases(source: &Source, retired: &Retired) -> Vec<String> {
    if !source.path.starts_with(retired.below) {
        return Vec::new();
    }
    let uses = uses(&source.lowercase, &retired.old.to_lowercase());
    uses.into_iter().map(|at| line(source, source.line_at(at), retired)).collect()
}

fn line(source: &Source, number: usize, Retired { old, instead, .. }: &Retired) -> String {
    format!("{}:{number}: {old} → {instead}", source.path)
}

fn uses(text: &str, old: &str) -> Vec<usize> {
    let found = text.match_indices(old).filter(|(at, old)| is_apart(text, *at, old));
    found.map(|(at, _)| at).collect()
}

/// Whether no letter of a longer word is around it.
fn is_apart(text: &str, at: usize, old: &str) -> bool {
    let is_part = |sign: char| sign.is_alphanumeric() || sign == '_';
    let before = text[..at].chars().next_back();
    let behind = text[at + old.len()..].chars().next();
    !before.is_some_and(is_part) && !behind.is_some_and(is_part)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(below: &'static str, old: &'static str) -> Retired {
        Retired { old, instead: "better", below }
    }

    #[test]
    fn a_phrase_is_found_across_lines_and_comment_marks() {
        let source = Source::new("a.rs", "//! Nothing.\n//! It ends for\n//! want of Memory.\n");
        let found = phrases(&source, &row("", "for want of memory"));
        assert_eq!(found, ["a.rs:2: for want of memory → better"]);
    }

    #[test]
    fn a_name_is_a_whole_identifier_of_the_code() {
        let text = "struct Film;\nlet film = Filmed;\n// Film\nsay(\"Film\");";
        let source = Source::new("a.rs", text);
        assert_eq!(names(&source, &row("", "Film")), ["a.rs:1: Film → better"]);
    }

    #[test]
    fn a_row_may_hold_for_one_folder() {
        let source = Source::new("crates/memory/a.rs", "Scene");
        assert!(names(&source, &row("crates/causes/", "Scene")).is_empty());
        assert_eq!(names(&source, &row("crates/memory/", "Scene")).len(), 1);
    }
}
