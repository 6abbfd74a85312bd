//! The page on the recording's bytes, from the sources that write and read them.

use std::{fmt::Write, fs};

use anyhow::{Context, Result};
use harness::root;

const SOURCES: &str = "crates/recording/src";

/// The page.
pub(super) fn page() -> Result<String> {
    let mut page = specification(&source("format.rs")?);
    let actions = source("record/action.rs")?;
    page.push_str(
        "\n## Tags and fields\n\nThe fields of each action, in the order in which they are written. \
         `crates/trace/src/event.rs` defines their meaning.\n\n| tag | action | fields |\n|---|---|---|\n",
    );
    for line in inside(&actions, "\nactions! {")?.lines().filter(|line| !line.trim().is_empty()) {
        let (tag, rest) = line.trim().split_once(' ').context("an action without a name")?;
        let (name, fields) = rest.split_once(" {").context("an action without fields")?;
        let fields: Vec<_> = fields.trim_end_matches('}').split_whitespace().collect();
        writeln!(page, "| {tag} | {name} | {} |", fields.join(", "))?;
    }
    let fields = source("record/fields.rs")?;
    page.push_str("\n## Choices\n\nA choice is one byte: the index in its list, from 0.\n\n| choice | list |\n|---|---|\n");
    for choice in inside(&fields, "\nchoices! {")?.split(';') {
        if let Some((name, list)) = choice.trim().split_once(':') {
            let list: Vec<_> = list.split_whitespace().collect();
            writeln!(page, "| {name} | {} |", list.join(", "))?;
        }
    }
    Ok(page)
}

fn source(name: &str) -> Result<String> {
    let path = root().join(SOURCES).join(name);
    fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))
}

/// The documentation at the head of a source file, a page of its own.
fn specification(source: &str) -> String {
    let documented = source.lines().map_while(|line| line.strip_prefix("//!"));
    let mut page = "# Recording file format\n\n\
                    This page specifies the files of a [recording](../json.md#a-recording). (Written by `cargo xtask \
                    book --bless` from `crates/recording/src`.)\n\n"
        .to_owned();
    for line in documented.map(|line| line.strip_prefix(' ').unwrap_or(line)) {
        // Headings of the module are sections of the page.
        let depth = if line.starts_with("# ") { "#" } else { "" };
        page.push_str(depth);
        page.push_str(line);
        page.push('\n');
    }
    page
}

/// What stands in a macro's braces.
fn inside<'a>(source: &'a str, opens: &str) -> Result<&'a str> {
    let (_, rest) = source.split_once(opens).with_context(|| format!("no {}", opens.trim()))?;
    let (inside, _) = rest.split_once("\n}\n").context("a macro that does not end")?;
    Ok(inside)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headings_become_sections() {
        let page = specification("//! The format.\n//!\n//! # Files\n//! text\n\nuse x;\n");
        assert!(page.ends_with("The format.\n\n## Files\ntext\n"));
    }
}
