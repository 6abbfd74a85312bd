//! Lines to paste mean the words that they were made of, whatever an input holds.

mod pytorch_run;

use std::{collections::BTreeSet, process::Command};

use pytorch_run::{GIB, MIB, Run};
use whyoom_causes::{InputOrigin, Remedy, ShellLine, Verdict};
use whyoom_trace::{Action, Bytes, ProcessState, facts::Fact};

/// What somebody may put into any text of an input.
const HOSTILE: [&str; 22] = [
    "'",
    "\"",
    "it's; touch x",
    "$(touch x)",
    "`touch x`",
    "a\nb",
    "{a,b}",
    "{1..9}",
    "#x",
    "~",
    "~root",
    "!x",
    "!!",
    "-x",
    "--output=x",
    "=ls",
    "a=~",
    "*",
    "a b",
    "",
    "\\",
    "x&&y|z>q<r",
];

/// The words that a shell passes on.
fn split(shell: &str, line: &str) -> Vec<String> {
    let script = format!("set -- {line}\nprintf '%s\\0' \"$@\"");
    let output = Command::new(shell).args(["-c", &script]).output().expect("a shell");
    assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).expect("text");
    let mut words: Vec<String> = text.split('\0').map(str::to_owned).collect();
    words.pop();
    words
}

fn remedies(verdict: &Verdict) -> impl Iterator<Item = &Remedy> {
    std::iter::once(&verdict.primary).chain(&verdict.contributing).flat_map(|one| &one.remedies)
}

/// A run that failed, with a hostile text in each place.
fn run(hostile: &str) -> Run {
    let torch = ("at::native::empty_cuda", "libtorch_cuda.so", 0);
    let script = format!("/home/me/{hostile}.py");
    let mut run = Run::new(
        &[torch, (hostile, &script, 12)],
        &[
            ("PYTORCH_CUDA_ALLOC_CONF", hostile),
            ("gpu_memory_utilization", hostile),
            ("shell", hostile),
        ],
    );
    run.command(&command(hostile).join("\0"));
    let model = run.tables.string(hostile);
    run.push(Action::Fact { fact: Fact::Gpu { model, total: Bytes(8 * GIB) } });
    run
}

/// The command of the runs.
fn command(hostile: &str) -> [&str; 6] {
    ["python", hostile, "--batch", "64", hostile, "{batch}"]
}

/// The verdicts on runs with a hostile text in each place.
fn verdicts(hostile: &str, origin: &InputOrigin) -> Vec<Verdict> {
    let mut full = run(hostile);
    full.segment(GIB, 7 * GIB);
    full.block(GIB, 7 * GIB);
    full.refuse(GIB, 500 * MIB);
    let mut fragmented = run(hostile);
    fragmented.segment(GIB, 7 * GIB);
    fragmented.refuse(GIB, 500 * MIB);
    let mut held = run(hostile);
    let command = held.tables.string(hostile);
    for standing in [ProcessState::Runs, ProcessState::Orphan, ProcessState::Hangs] {
        let pid = 77 + standing as u32;
        held.push(Action::Holder { pid, bytes: Bytes(2 * GIB), command, standing });
    }
    held.refuse(2 * GIB, 300 * MIB);
    [full, fragmented, held].iter().map(|run| run.judge_from(origin)).collect()
}

#[test]
fn a_shell_splits_each_line_into_the_words_that_were_meant() {
    let mut with_program = 0;
    for hostile in HOSTILE {
        let own =
            InputOrigin { running: (2..200).collect(), ..InputOrigin::own(&command(hostile)) };
        for verdict in verdicts(hostile, &own) {
            for remedy in remedies(&verdict) {
                let Some(line) = &remedy.shell_line else { continue };
                let text = remedy.paste.as_deref().expect("a line has a text");
                with_program += u32::from(text.contains(" -- "));
                for shell in ["sh", "bash"] {
                    assert_eq!(split(shell, text), line.words(), "{shell}: {text}");
                }
            }
        }
    }
    assert!(with_program > 10, "{with_program} lines with the program only");
}

#[test]
fn the_words_are_those_of_the_command() {
    for hostile in HOSTILE.into_iter().filter(|text| !text.contains('\n')) {
        let own = InputOrigin::own(&command(hostile));
        let verdict = verdicts(hostile, &own).remove(0);
        let lines = remedies(&verdict).filter_map(|remedy| remedy.shell_line.as_ref());
        let fit = lines.map(ShellLine::words).find(|words| words[1] == "fit").expect("a search");
        let expected = ["--", "python", hostile, "--batch", "{batch}", hostile, "{batch}"];
        assert_eq!(&fit[fit.len() - expected.len()..], expected);
        assert!(!fit.contains(&"--gpu".to_owned()), "{fit:?}");
    }
}

#[test]
fn a_command_from_elsewhere_is_an_example_without_its_words() {
    for hostile in ["evil", "$(touch x)"] {
        // The second is what is left if a recording is exchanged after the look at its origin.
        let of_another = InputOrigin::own(&command("another"));
        let mut verdicts = verdicts(hostile, &InputOrigin::default());
        verdicts.extend(self::verdicts(hostile, &of_another));
        let all: Vec<&Remedy> = verdicts.iter().flat_map(remedies).collect();
        for remedy in &all {
            let paste = remedy.paste.as_deref().unwrap_or_default();
            assert!(!paste.contains(hostile) && !paste.starts_with("kill"), "{remedy:?}");
            let example = remedy.example.as_deref().unwrap_or_default();
            assert!(!example.contains(hostile), "{remedy:?}");
        }
        let example = "whyoom fit --memory 8GiB --vary batch=1..64 -- COMMAND";
        assert!(all.iter().any(|one| one.example.as_deref() == Some(example)), "{all:#?}");
    }
}

#[test]
fn a_process_is_ended_only_if_its_number_still_means_it() {
    let ended = |origin: &InputOrigin| {
        let verdict = verdicts("x", origin).remove(2);
        remedies(&verdict).any(|one| one.paste.as_deref().unwrap_or("").starts_with("kill"))
    };
    let own = InputOrigin::own(&command("x"));
    let running: BTreeSet<u32> = (2..200).collect();
    assert!(ended(&InputOrigin { running: running.clone(), ..own.clone() }));
    assert!(!ended(&own), "it has ended");
    assert!(!ended(&InputOrigin { running, ..InputOrigin::default() }), "from elsewhere");
}

#[test]
fn a_line_that_begins_on_windows_has_no_words_in_posix_quotes() {
    let own = InputOrigin::own(&["python", "a & calc", "--batch", "64"]);
    for shell in ["cmd", "powershell"] {
        let mut run = Run::new(&[("main", "C:\\x\\train.py", 1)], &[("shell", shell)]);
        run.command("python\0a & calc\0--batch\x0064");
        run.segment(GIB, 7 * GIB);
        run.block(GIB, 7 * GIB);
        run.refuse(GIB, 500 * MIB);
        for remedy in remedies(&run.judge_from(&own)) {
            let in_linux = remedy.what.ends_with("(in WSL or a Linux container)");
            let paste = remedy.paste.as_deref().unwrap_or_default();
            assert!(in_linux || !paste.contains("calc"), "{remedy:?}");
        }
    }
}
