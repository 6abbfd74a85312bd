//! Part `reference`: pages written from the code: causes and memory terms, commands, the recording's format.

use std::{fmt::Write, path::Path, process::Command};

use anyhow::{Context, Result, ensure};
use harness::{Build, Held};
use whyoom_causes::{CATALOGUE, GLOSSARY};

use super::{Wish, format, page::keep};

const STATUS: &str = "Exit status:";

pub(super) fn run(wish: &Wish) -> Result<Held> {
    let helps = helps(&Build::ready()?.whyoom())?;
    for (name, page) in [
        ("causes.md", causes()? + &memory_terms()?),
        ("commands.md", commands(&helps)?),
        ("dev/recording-format.md", format::page()?),
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
# Causes and memory terms

<!-- Written by `cargo xtask book --bless` from `crates/causes`. -->

`whyoom causes ID` prints what this page says of a cause, and `whyoom causes TERM` explains one of the [memory
terms](#memory-terms), by any of its names.
"
    .to_owned();
    for cause in CATALOGUE {
        let explanation = escaped(cause.explanation);
        write!(page, "\n## {}\n\n*{}.*\n\n{explanation}\n", cause.id, escaped(cause.title))?;
    }
    Ok(page)
}

/// Returns the section on the memory counters of PyTorch and CUDA.
fn memory_terms() -> Result<String> {
    let mut section = "
## Memory terms

The memory counters of PyTorch and CUDA, from the tensor to the device.

| term | meaning | other names |
|---|---|---|
"
    .to_owned();
    for term in GLOSSARY {
        let names: Vec<_> = term.aliases.iter().map(|name| format!("`{name}`")).collect();
        let (meaning, names) = (escaped(term.meaning), names.join(", "));
        writeln!(section, "| **{}** | {meaning} | {names} |", term.word)?;
    }
    Ok(section)
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

const COMMANDS: &str = "\
# Commands, exit statuses, environment

<!-- Written by `cargo xtask book --bless` from the help of each command. -->

This page has what `--help` prints for each command, with its exit statuses. On Windows and macOS, a command that [needs
Linux](install.md#windows-and-macos) says so in one line and ends with 2.

## Environment variables

| variable | meaning |
|---|---|
| `NO_COLOR`, `CLICOLOR`, `CLICOLOR_FORCE` | whether output has colors |
| `TMPDIR` | where labs and private files are made, if it is set to a folder that no other user can change |
| `WHYOOM_FLIGHT=1` | makes every `whyoom run` a [flight recorder](run.md#flight-recorder) |
| `WHYOOM_TERMINATION_LOG` | the file to which `whyoom run` adds its verdict in a Kubernetes container, in place of `/dev/termination-log` |
| `WHYOOM_POOL`, `WHYOOM_POOL_CAP`, `WHYOOM_POOL_DEBUG`, `WHYOOM_POOL_LIBRARY` | [the pool](pool.md#environment-variables) |
| `WHYOOM_LAB_NCCL_TIMEOUT` | seconds that a rank waits for others on the [simulated GPU](lab.md#several-ranks) |
| `WHYOOM_COMMAND` | the command that the [Python package](python.md#environment-variables) runs |
| `WHYOOM_NODE` | the node's name in incidents of [`whyoom-fleet`](clusters.md#settings) |
";

fn commands(helps: &[(String, String)]) -> Result<String> {
    let mut page = COMMANDS.to_owned();
    for (name, help) in helps {
        // A command that only has subcommands exits as they do.
        ensure!(
            help.contains(STATUS) || subcommands(help).next().is_some(),
            "{name} --help lists no exit statuses"
        );
        write!(page, "\n## {name}\n\n```text\n{}\n```\n", help.trim_end())?;
    }
    Ok(page)
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
    fn commands_are_read_off_the_help() {
        let help =
            "About\n\nCommands:\n  run   Run\n        a program\n  help  Help\n\nOptions:\n  -h\n";
        assert_eq!(subcommands(help).collect::<Vec<_>>(), ["run"]);
        assert_eq!(subcommands("Options:\n  -h\n").count(), 0);
    }
}
