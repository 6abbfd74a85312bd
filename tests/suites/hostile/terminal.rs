//! Names that steer a terminal: escape sequences and marks that turn the line reach none.

use std::{
    ffi::OsStr,
    fs,
    path::{Path, PathBuf},
    process::{Command, Output},
};

use anyhow::{Context, Result, ensure};
use harness::{Build, Held, Scene, SceneStage, empty_folder, must_succeed, root, text};

/// What is in a name.
const STEERS: &str = "\u{1b}[2J\u{1b}[8m\u{1b}]0;owned\u{7}\u{202e}\u{2066}\u{9b}31m\u{7f}\r";
/// Colours are asked for, so that nothing takes out our sequences, and others' with them.
const COLOURS: (&str, &str) = ("CLICOLOR_FORCE", "1");

/// Every text of a snapshot, a log and an RMM log, and the files' own names.
pub(super) fn files() -> Result<Held> {
    let folder = empty_folder("hostile-terminal")?;
    let mut script = Command::new("python3");
    script.arg(root().join("tests/suites/hostile/steering.py"));
    must_succeed(script.arg(root().join("tests/fixtures")).arg(&folder))?;
    let whyoom = Build::ready()?.whyoom();
    let inputs = entries(&folder)?;
    let (page, exported) =
        (folder.join(format!("page{STEERS}")), folder.join(format!("trace{STEERS}")));
    let mut answers = 0;
    for input in &inputs {
        let asked: &[&[&OsStr]] = &[
            &["why".as_ref()],
            &["why".as_ref(), "--live".as_ref()],
            &["why".as_ref(), "--json".as_ref(), "--live".as_ref(), "--timeline".as_ref()],
            &["replay".as_ref()],
            &["replay".as_ref(), "--json".as_ref()],
            &["report".as_ref(), "--json".as_ref()],
            &["report".as_ref(), "--force".as_ref(), "-o".as_ref(), page.as_ref()],
            &[
                "export".as_ref(),
                "--to".as_ref(),
                "perfetto".as_ref(),
                "--force".as_ref(),
                "-o".as_ref(),
                exported.as_ref(),
            ],
        ];
        for words in asked {
            let mut command = Command::new(&whyoom);
            // The name of an input may stand behind an option that takes a number.
            command.arg(words[0]).arg(input).args(&words[1..]);
            let output = command.env(COLOURS.0, COLOURS.1).output()?;
            steers_nothing(&output).with_context(|| format!("{words:?} {input:?}"))?;
            answers += u64::from(output.status.success());
        }
        let html = if page.exists() { fs::read_to_string(&page)? } else { String::new() };
        let marks = html.chars().filter(|one| is_mark(*one)).count();
        ensure!(marks == 0, "{marks} marks in the page of {input:?}");
    }
    // Broken ones are refused in words, and not everything can be replayed.
    ensure!(answers >= 5 * (inputs.len() as u64 - 1), "{answers} answers only");
    Ok(Held::new("no foreign sequence on the terminal").count("answers", answers))
}

/// The command line and the name of a process that others look at, recorded and live.
pub(super) fn processes() -> Result<Held> {
    let folder = empty_folder("hostile-terminal-who")?;
    let mut scene = Scene::start(&SceneStage::ready()?, &["--memory", "4GiB"])?;
    let program = text(&root().join("tests/suites/hostile/holds.py"));
    let title = "\u{1b}[2J\u{202e}";
    for words in [["hold", "256", STEERS, "-"], ["hold", "64", "--title", title]] {
        let words = [&[program.as_str()], &words[..]].concat();
        scene.hold_as(Path::new("python3"), &words, 1)?;
    }
    let recording = text(&folder.join("run"));
    let run = ["run", "-o", &recording, "--", "python3", &program, "fail", STEERS];
    let asked: &[&[&str]] = &[
        &run,
        &["who"],
        &["who", "--json"],
        &["top", "--once"],
        &["why", &recording],
        &["why", "--json", &recording],
        &["report", "--json", &recording],
    ];
    for words in asked {
        let output =
            scene.command(scene.whyoom()).args(*words).env(COLOURS.0, COLOURS.1).output()?;
        steers_nothing(&output).with_context(|| words.join(" "))?;
        ensure!(!output.stdout.is_empty() || words[0] == "run", "{words:?} says nothing");
    }
    Ok(Held::new("no foreign sequence on the terminal").count("answers", asked.len() as u64))
}

fn entries(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder)?.map(|entry| Ok(entry?.path()));
    entries.collect()
}

/// An error where anything but text, lines and colours was printed.
fn steers_nothing(output: &Output) -> Result<()> {
    for bytes in [&output.stdout, &output.stderr] {
        let printed = std::str::from_utf8(bytes)?;
        let plain = without_colours(printed);
        let found = plain.chars().position(|one| one != '\n' && is_mark(one));
        if let Some(at) = found {
            let start: String = plain.chars().skip(at.saturating_sub(60)).take(80).collect();
            ensure!(false, "it prints {start:?}");
        }
        ensure!(!printed.contains("\u{1b}[8m"), "it hides what follows");
    }
    Ok(())
}

fn is_mark(one: char) -> bool {
    (one.is_control() && one != '\n')
        || matches!(one, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// A text without sequences that set a colour.
fn without_colours(text: &str) -> String {
    let mut plain = String::new();
    let mut rest = text;
    while let Some(at) = rest.find("\u{1b}[") {
        plain.push_str(&rest[..at]);
        let sequence = &rest[at + 2..];
        let end = sequence.find(|one: char| !one.is_ascii_digit() && one != ';');
        match end.filter(|end| sequence[*end..].starts_with('m')) {
            Some(end) => rest = &sequence[end + 1..],
            None => {
                plain.push('\u{1b}');
                rest = sequence;
            }
        }
    }
    plain + rest
}
