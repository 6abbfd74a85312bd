//! What is asked: the commands of the transcripts, every fixture, and data from real GPUs where there are any.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, ensure};
use harness::{root, shared_data, text};

/// Where the transcripts' commands run, and everything else: relative paths are the same on both systems.
pub(super) const FOLDER: &str = "crates/whyoom";
/// The folders of inputs, from there.
const FIXTURES: [&str; 3] =
    ["../../tests/fixtures/logs", "../../tests/fixtures/snapshots", "../../tests/fixtures/imports"];
/// What is exported, and reported.
const WRITTEN: [&str; 4] = [
    "../../tests/fixtures/snapshots/fragmented-oom.pickle",
    "../../tests/fixtures/snapshots/growth.pickle",
    "../../tests/fixtures/imports/rmm.dev0.csv",
    "../../tests/fixtures/imports/nsys-growth.sqlite",
];
const EXPORTS: [&str; 4] = ["out.perfetto-trace", "out.pb.gz", "out.parquet", "out.pickle"];
/// Commands that answer on any system.
const PORTABLE: [&str; 7] = ["why", "report", "export", "diff", "replay", "causes", "demo"];
const STORIES: [&str; 5] = ["fragmented", "growing", "other-process", "too-large", "healthy"];

/// A command that is run on both.
#[derive(Debug)]
pub(super) struct Case {
    /// What it is counted as.
    pub(super) kind: &'static str,
    pub(super) words: Vec<String>,
    /// How the file's name ends that it writes.
    pub(super) writes: Option<&'static str>,
    pub(super) number: usize,
}

/// All of them, and what is missing.
pub(super) fn all() -> Result<(Vec<Case>, Vec<String>)> {
    let (mut cases, mut skipped) = (Vec::new(), Vec::new());
    let mut add = |kind, words: &[&str], writes| {
        let words = words.iter().map(|word| (*word).to_owned()).collect();
        let number = cases.len();
        cases.push(Case { kind, words, writes, number });
    };
    for words in transcripts()? {
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        add("commands of the transcripts", &words, None);
    }
    for folder in FIXTURES {
        for file in inputs(Path::new(folder), &["log", "pickle", "csv", "sqlite"])? {
            add("verdicts of fixtures", &["why", &file], None);
            add("verdicts of fixtures as JSON", &["why", &file, "--json", "--timeline"], None);
            if file.ends_with(".pickle") {
                add("replays of fixtures as JSON", &["replay", &file, "--json"], None);
            }
        }
    }
    for file in WRITTEN {
        for name in EXPORTS {
            // Only PyTorch's own blocks make a snapshot of PyTorch.
            if !(file.ends_with(".sqlite") && name.ends_with(".pickle")) {
                add("exports, to the byte", &["export", file], Some(name));
            }
        }
        add("reports, to the byte", &["report", file], Some("report.html"));
    }
    for story in STORIES {
        add("stories of the demo", &["demo", story], None);
        add("stories of the demo", &["demo", story, "--json"], None);
    }
    add("pages", &["causes"], None);
    add("pages", &["causes", "--json"], None);
    add("pages", &["schema", "why"], None);
    add("pages", &["man", "why"], None);
    match shared_data() {
        Err(missing) => skipped.push(format!("texts and snapshots of others: {missing}")),
        Ok(_) => {
            for (folder, kind) in [("texts", "txt"), ("torch-snapshots", "pickle")] {
                let folder = Path::new("../../../shared/data").join(folder);
                for file in inputs(&folder, &[kind])? {
                    add("verdicts of shared data", &["why", &file], None);
                    add("verdicts of shared data", &["why", &file, "--json"], None);
                }
            }
        }
    }
    Ok((cases, skipped))
}

/// The words of the transcripts' portable commands.
fn transcripts() -> Result<Vec<Vec<String>>> {
    let folder = root().join(FOLDER).join("tests/cmd");
    let mut commands = Vec::new();
    for entry in fs::read_dir(&folder)? {
        let path = entry?.path();
        if path.extension().is_some_and(|kind| kind == "trycmd") {
            let transcript = fs::read_to_string(&path)?;
            let typed = transcript.lines().filter_map(|line| line.strip_prefix("$ whyoom "));
            commands.extend(typed.map(words));
        }
    }
    commands.retain(|words| words.first().is_some_and(|first| PORTABLE.contains(&first.as_str())));
    commands.sort();
    commands.dedup();
    ensure!(!commands.is_empty(), "no transcripts in {}", folder.display());
    Ok(commands)
}

/// The words of a line, of which some are in single quotes.
fn words(line: &str) -> Vec<String> {
    let (mut words, mut quoted) = (Vec::new(), false);
    for part in line.split('\'') {
        if quoted {
            words.push(part.to_owned());
        } else {
            words.extend(part.split_whitespace().map(str::to_owned));
        }
        quoted = !quoted;
    }
    words
}

/// The files of these kinds in a folder, as the command names them.
fn inputs(folder: &Path, kinds: &[&str]) -> Result<Vec<String>> {
    let here = root().join(FOLDER).join(folder);
    let entries = fs::read_dir(&here).with_context(|| here.display().to_string())?;
    let mut files: Vec<PathBuf> =
        entries.map(|entry| Ok(entry?.path())).collect::<std::io::Result<_>>()?;
    files.retain(|file| kinds.iter().any(|kind| file.extension().is_some_and(|own| own == *kind)));
    files.sort();
    ensure!(!files.is_empty(), "no inputs in {}", here.display());
    Ok(files.iter().filter_map(|file| Some(text(&folder.join(file.file_name()?)))).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_in_quotes_are_one() {
        assert_eq!(
            words("diff a b --fail-if 'peak > 5%'"),
            ["diff", "a", "b", "--fail-if", "peak > 5%"]
        );
    }

    #[test]
    fn there_are_transcripts_of_why() {
        let commands = transcripts().expect("the transcripts are in the checkout");
        assert!(commands.iter().filter(|words| words[0] == "why").count() > 10);
    }
}
