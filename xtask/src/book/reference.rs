//! Part `reference`: the pages that say what the code says: causes, glossary, commands, statuses.

use std::{fmt::Write, path::Path, process::Command};

use anyhow::{Context, Result, ensure};
use harness::{Build, Held};
use whyoom_causes::{CATALOGUE, GLOSSARY};

use super::{Wish, format, page::keep};

const STATUS: &str = "Exit status:";

pub(super) fn run(wish: &Wish) -> Result<Held> {
    let helps = helps(&Build::ready()?.whyoom())?;
    for (name, page) in [
        ("causes.md", causes()?),
        ("glossary.md", glossary()?),
        ("commands.md", commands(&helps)?),
        ("exit-status.md", statuses(&helps)?),
        ("recording-format.md", format::page()?),
    ] {
        keep(name, &page, wish.bless)?;
    }
    Ok(Held::new(format!(
        "{} causes, {} counters and the help of {} commands are on their pages",
        CATALOGUE.len(),
        GLOSSARY.len(),
        helps.len()
    )))
}

fn causes() -> Result<String> {
    let mut page = "\
# Causes

This page explains the causes that whyoom can report. `whyoom causes ID` prints the same text; [the example
verdicts](verdicts.md) show a real verdict for each. (Written by `cargo xtask book --bless` from `crates/causes`.)
"
    .to_owned();
    for cause in CATALOGUE {
        let explanation = escaped(cause.explanation);
        write!(page, "\n## {}\n\n*{}.*\n\n{explanation}\n", cause.id, escaped(cause.title))?;
    }
    Ok(page)
}

fn glossary() -> Result<String> {
    let mut page = "\
# Memory counters

This page explains the memory counters of PyTorch and CUDA, from the tensor to the device. `whyoom causes COUNTER`
explains one of them, by any of its names. (Written by `cargo xtask book --bless` from `crates/causes`.)

| counter | meaning | other names |
|---|---|---|
"
    .to_owned();
    for term in GLOSSARY {
        let names: Vec<_> = term.aliases.iter().map(|name| format!("`{name}`")).collect();
        let (meaning, names) = (escaped(term.meaning), names.join(", "));
        writeln!(page, "| **{}** | {meaning} | {names} |", term.word)?;
    }
    Ok(page)
}

/// Text that stands in Markdown as it is: no word of it is a tag or emphasis.
fn escaped(text: &str) -> String {
    let marks = ['\\', '<', '>', '_', '*', '[', ']', '|', '`'];
    let letters = text.chars().flat_map(|letter| {
        let mark = marks.contains(&letter).then_some('\\');
        mark.into_iter().chain([letter])
    });
    letters.collect()
}

fn commands(helps: &[(String, String)]) -> Result<String> {
    let mut page = "\
# Commands

What `--help` prints. (Written by `cargo xtask book --bless`.)
"
    .to_owned();
    for (name, help) in helps {
        write!(page, "\n## {name}\n\n```text\n{}\n```\n", help.trim_end())?;
    }
    Ok(page)
}

fn statuses(helps: &[(String, String)]) -> Result<String> {
    let mut page = "\
# Exit statuses

This page lists the exit statuses of each command, as in its `--help`. (Written by `cargo xtask book --bless`.)

On Windows and macOS, a command that [needs Linux](install.md#windows-and-macos) says so in one line and ends with 2.
"
    .to_owned();
    for (name, help) in helps {
        // What only has commands of its own ends as they do.
        if subcommands(help).next().is_some() {
            continue;
        }
        let (_, told) =
            help.split_once(STATUS).with_context(|| format!("{name} tells no statuses"))?;
        let told = told.split("\n\n").next().unwrap_or_default();
        write!(page, "\n## {name}\n\n{}", status_table(told))?;
    }
    Ok(page)
}

/// What a help text says of statuses: its words, and a table of those that it lists.
fn status_table(told: &str) -> String {
    let lines = told.lines().map(str::trim).filter(|line| !line.is_empty());
    let (mut words, mut rows) = (Vec::new(), Vec::new());
    for line in lines {
        match line.split_once("  ").filter(|(status, _)| is_status(status)) {
            Some((status, what)) => rows.push(format!("| {status} | {} |\n", escaped(what.trim()))),
            None => words.push(line),
        }
    }
    let words = if words.is_empty() { String::new() } else { escaped(&words.join(" ")) + "\n\n" };
    let head = if rows.is_empty() { "" } else { "| status | meaning |\n|---|---|\n" };
    format!("{words}{head}{}", rows.concat())
}

/// A number, or one that a signal's is added to: `128+N`.
fn is_status(word: &str) -> bool {
    word.starts_with(|first: char| first.is_ascii_digit())
        && word.chars().all(|letter| letter.is_ascii_digit() || "+N".contains(letter))
}

/// The help of the program, of each of its commands, and of theirs.
pub(crate) fn helps(whyoom: &Path) -> Result<Vec<(String, String)>> {
    let mut helps = Vec::new();
    let mut waiting = vec![Vec::<String>::new()];
    while let Some(words) = waiting.pop() {
        let help = help(whyoom, &words)?;
        let mut inner: Vec<_> =
            subcommands(&help).map(|name| [&words[..], &[name.to_owned()]].concat()).collect();
        inner.reverse();
        waiting.extend(inner);
        helps.push(([&["whyoom".to_owned()][..], &words[..]].concat().join(" "), help));
    }
    Ok(helps)
}

fn help(whyoom: &Path, words: &[String]) -> Result<String> {
    let mut command = Command::new(whyoom);
    command.args(words).arg("--help").env("COLUMNS", "100").env("NO_COLOR", "1");
    let output = command.output().with_context(|| format!("{}", whyoom.display()))?;
    ensure!(output.status.success(), "whyoom {} --help failed", words.join(" "));
    Ok(String::from_utf8(output.stdout)?)
}

/// The names under `Commands:`.
fn subcommands(help: &str) -> impl Iterator<Item = &str> {
    let listed = help.split_once("\nCommands:\n").map_or("", |(_, rest)| rest);
    let lines = listed.lines().take_while(|line| line.starts_with("  "));
    // A longer text goes on in lines that begin with more white space.
    let names = lines.filter(|line| !line.starts_with("   "));
    names.filter_map(|line| line.split_whitespace().next()).filter(|name| *name != "help")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn listed_statuses_become_a_table() {
        let listed = " that of the program, or\n  1      no lab\n  128+N  signal N\n";
        let table = "that of the program, or\n\n| status | meaning |\n|---|---|\n| 1 | no lab |\n| 128+N | signal N |\n";
        assert_eq!(status_table(listed), table);
    }

    #[test]
    fn commands_are_read_off_the_help() {
        let help =
            "About\n\nCommands:\n  run   Run\n        a program\n  help  Help\n\nOptions:\n  -h\n";
        assert_eq!(subcommands(help).collect::<Vec<_>>(), ["run"]);
        assert_eq!(subcommands("Options:\n  -h\n").count(), 0);
    }
}
