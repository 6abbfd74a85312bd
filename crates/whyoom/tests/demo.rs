//! The stories of `whyoom demo`: each has its cause, with the command alone too.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Output},
};

use serde_json::Value;

const CAUSES: &[(&str, &str)] = &[
    ("fragmented", "fragmented-cache"),
    ("growing", "growth"),
    ("other-process", "other-process"),
    ("too-large", "working-set"),
    ("healthy", "healthy"),
];

fn demo(whyoom: &Path, words: &[&str]) -> Output {
    let output = Command::new(whyoom).arg("demo").args(words).env_clear().output().unwrap();
    assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    output
}

fn told(output: Output) -> String {
    String::from_utf8(output.stdout).unwrap()
}

fn built() -> PathBuf {
    env!("CARGO_BIN_EXE_whyoom").into()
}

/// A folder that only one test uses.
fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    folder
}

#[test]
fn every_story_has_its_cause() {
    let list = told(demo(&built(), &[]));
    assert_eq!(list.matches("  whyoom demo ").count(), CAUSES.len(), "{list}");
    for (name, cause) in CAUSES {
        assert!(list.contains(&format!("whyoom demo {name}")), "{list}");
        let answer: Value =
            serde_json::from_slice(&demo(&built(), &[name, "--json"]).stdout).unwrap();
        assert_eq!(answer["schema"], "whyoom.why");
        assert_eq!(answer["verdict"]["cause"], *cause, "{name}: {answer:#}");
    }
}

#[test]
fn the_command_alone_tells_all_stories() {
    let folder = folder("demo-alone");
    let alone = folder.join("whyoom");
    // Its libraries are looked for beside it: there are none.
    if fs::hard_link(built(), &alone).is_err() {
        fs::copy(built(), &alone).unwrap();
    }
    let all = told(demo(&alone, &["--all"]));
    for (name, cause) in CAUSES {
        assert!(all.contains(&format!("{name}: ")) && all.contains(cause), "{name}: {all}");
    }
    assert_eq!(all.matches("On your own program:").count(), CAUSES.len(), "{all}");
    assert!(!all.contains("runs now"), "{all}");
}

#[test]
fn verdicts_name_lines_of_the_program_that_is_shown() {
    for (name, line) in
        [("fragmented", 13), ("growing", 10), ("other-process", 11), ("too-large", 16)]
    {
        let shown = told(demo(&built(), &[name]));
        assert!(shown.contains(&format!("\n  {line:>3} | ")), "{shown}");
        let answer = told(demo(&built(), &[name, "--json"]));
        assert!(answer.contains(&format!("{name}/train.py:{line}")), "{answer}");
    }
}

#[test]
fn a_report_is_written_where_it_is_asked_for() {
    let report = folder("demo-report").join("growing.html");
    demo(&built(), &["growing", "--report", report.to_str().unwrap()]);
    let size = fs::metadata(&report).unwrap().len();
    assert!(size > 50_000, "{size}");
}
