//! `cargo xtask metamorphic`: changes to a text that must not matter give the same verdict.

use std::collections::BTreeMap;

use anyhow::{Context, Result, ensure};
use harness::{
    Held,
    score::{Input, all_cases},
};
use whyoom_causes::judge;
use whyoom_memory::Model;
use whyoom_sources::oom_text;
use whyoom_trace::Tables;

/// A change that must not matter.
struct Change {
    name: &'static str,
    /// The same text otherwise; nothing where the change says nothing of it.
    apply: fn(&str) -> Option<Vec<u8>>,
}

const UNRELATED: &str =
    "INFO 2026-11-02 09:14:33 loader.py:88 loaded 128 shards in 4.2 s, 12 workers\n";
const TABLE: &str = "\
+---------+------------+\n| epoch   | accuracy   |\n+---------+------------+\n| 1       | 0.7123     |\n";

const MENTION: &str = "a second mention in prose";

/// Before each line, as launchers, containers and journals write it.
fn prefixed(text: &str, prefix: &str) -> Option<Vec<u8>> {
    Some(text.lines().map(|line| format!("{prefix}{line}\n")).collect::<String>().into_bytes())
}

const CHANGES: &[Change] = &[
    Change {
        name: "unrelated line before",
        apply: |text| Some(format!("{UNRELATED}{text}").into()),
    },
    Change {
        name: "unrelated line behind",
        apply: |text| Some(format!("{text}\n{UNRELATED}").into()),
    },
    Change {
        name: "unrelated table before",
        apply: |text| Some(format!("{TABLE}\n{text}").into()),
    },
    Change {
        name: "unrelated table behind",
        apply: |text| Some(format!("{text}\n{TABLE}").into()),
    },
    Change { name: "Windows line ends", apply: |text| Some(text.replace('\n', "\r\n").into()) },
    Change { name: "UTF-16", apply: utf16 },
    Change { name: "colours", apply: colours },
    Change { name: "timestamps", apply: |text| prefixed(text, "2026-11-02T09:14:33.123456Z ") },
    Change { name: "a container's name", apply: |text| prefixed(text, "trainer-1  | ") },
    Change { name: "journal", apply: |text| prefixed(text, "Nov 02 09:14:33 node7 job[4711]: ") },
    Change { name: "indented", apply: |text| prefixed(text, "    ") },
    Change { name: "quoted", apply: |text| prefixed(text, "> ") },
    Change {
        // Where nothing failed, it would be the first.
        name: MENTION,
        apply: |text| {
            Some(format!("{text}\nHow do I get rid of this out of memory error?\n").into())
        },
    },
    Change { name: "a code fence", apply: |text| Some(format!("```\n{text}\n```\n").into()) },
    Change { name: "blank lines", apply: |text| Some(text.replace('\n', "\n\n").into()) },
];

/// Little-endian, with the mark that Windows' shell writes. Only of ASCII: that is what it keeps whole.
fn utf16(text: &str) -> Option<Vec<u8>> {
    let units = text.encode_utf16().flat_map(u16::to_le_bytes);
    text.is_ascii().then(|| [0xff, 0xfe].into_iter().chain(units).collect())
}

/// Each line in red, as loggers print errors on a terminal.
fn colours(text: &str) -> Option<Vec<u8>> {
    let line = |line: &str| format!("\u{1b}[31m{line}\u{1b}[0m\n");
    Some(text.lines().map(line).collect::<String>().into_bytes())
}

/// The cause that a text is judged by, and whether a failure was found in it.
fn cause(texts: &[Vec<u8>]) -> Result<(&'static str, bool)> {
    let (mut tables, mut model) = (Tables::default(), Model::default());
    let mut failed = false;
    for (index, text) in texts.iter().enumerate() {
        let name = format!("text {index}");
        failed |= oom_text::scan(text.as_slice(), &name, &mut tables, &mut model)?.messages > 0;
    }
    Ok((judge(&model, &tables).primary.cause, failed))
}

/// How often a change was made, and where it turned a verdict.
#[derive(Default)]
struct Tally {
    made: u64,
    flipped: Vec<String>,
}

pub(crate) fn run() -> Result<Held> {
    let mut tallies = BTreeMap::<&str, Tally>::new();
    let mut texts = 0;
    for case in all_cases()? {
        let Input::Files(files) = case.input()? else { continue };
        if files.iter().any(|file| file.extension().is_some_and(|kind| kind == "pickle")) {
            continue;
        }
        let read = |file| std::fs::read(file).with_context(|| case.name.clone());
        let plain = files.iter().map(read).collect::<Result<Vec<_>>>()?;
        let (expected, failed) = cause(&plain)?;
        texts += 1;
        for change in CHANGES.iter().filter(|change| failed || change.name != MENTION) {
            let changed = plain.iter().map(|text| {
                let text = std::str::from_utf8(text).ok()?;
                (change.apply)(text)
            });
            let Some(changed) = changed.collect::<Option<Vec<_>>>() else { continue };
            let tally = tallies.entry(change.name).or_default();
            tally.made += 1;
            let (found, _) = cause(&changed)?;
            if found != expected {
                tally.flipped.push(format!("{}: {expected} → {found}", case.name));
            }
        }
    }
    end(texts, &tallies)
}

fn end(texts: u64, tallies: &BTreeMap<&str, Tally>) -> Result<Held> {
    println!("{:<28} {:>5} {:>8}", "change", "made", "flipped");
    for (name, tally) in tallies {
        println!("{name:<28} {:>5} {:>8}", tally.made, tally.flipped.len());
        tally.flipped.iter().for_each(|flipped| println!("    {flipped}"));
    }
    let made: u64 = tallies.values().map(|tally| tally.made).sum();
    let flipped: usize = tallies.values().map(|tally| tally.flipped.len()).sum();
    ensure!(tallies.len() == CHANGES.len(), "not every change was made");
    ensure!(flipped == 0, "{flipped} of {made} changed texts are judged otherwise");
    Ok(Held::new(format!(
        "{texts} texts under {} changes, {made} changed texts, no verdict flips",
        CHANGES.len()
    )))
}
