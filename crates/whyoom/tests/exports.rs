//! `whyoom export`: what it writes, read back by `whyoom why`; what it refuses.
#![allow(clippy::disallowed_methods, reason = "a test's own files")]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use std::{
    path::{Path, PathBuf},
    process::{Command, Output},
};

use serde_json::Value;

fn fixtures() -> PathBuf {
    // Tests run in the folder of their package.
    PathBuf::from("../../tests/fixtures/snapshots")
}

fn whyoom(words: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_whyoom")).args(words).output().unwrap()
}

fn why(file: &Path) -> Value {
    let output = whyoom(&["why", "--json", file.to_str().unwrap()]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

fn export(input: &Path, output: &Path) -> Output {
    whyoom(&["export", input.to_str().unwrap(), "--force", "-o", output.to_str().unwrap()])
}

fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap().flatten();
    entries.map(|entry| entry.file_name().into_string().unwrap()).collect()
}

#[test]
fn every_snapshot_comes_back_as_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let mut seen = 0;
    for entry in std::fs::read_dir(fixtures()).unwrap().flatten() {
        let original = entry.path();
        if original.extension().is_none_or(|end| end != "pickle") {
            continue;
        }
        seen += 1;
        let copy = folder.path().join("copy.pickle");
        let output = export(&original, &copy);
        assert!(output.status.success(), "{original:?}: {output:?}");
        let (mut before, mut after) = (why(&original), why(&copy));
        // Only the file's name differs.
        for document in [&mut before, &mut after] {
            let text = document.to_string();
            let name = document["inputs"][0]["name"].as_str().unwrap().to_owned();
            *document = serde_json::from_str(&text.replace(&name, "the file")).unwrap();
        }
        assert_eq!(before, after, "{original:?}");
    }
    assert!(seen > 10);
    assert_eq!(names(folder.path()), ["copy.pickle"], "nothing else is left");
}

#[test]
fn every_format_is_told_by_the_name_and_says_how_to_open_it() {
    let folder = tempfile::tempdir().unwrap();
    for (name, opened_by) in [
        ("run.perfetto-trace", "ui.perfetto.dev"),
        ("run.pftrace", "ui.perfetto.dev"),
        ("run.pb.gz", "go tool pprof"),
        ("run.parquet", "duckdb"),
        ("run.pickle", "memory_viz"),
    ] {
        let file = folder.path().join(name);
        let output = export(&fixtures().join("growth-oom.pickle"), &file);
        let said = String::from_utf8(output.stdout).unwrap();
        assert!(said.contains(opened_by), "{said}");
        assert!(file.metadata().unwrap().len() > 100);
    }
}

#[test]
fn what_cannot_be_written_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let in_folder = |name: &str| folder.path().join(name);
    let refused = |output: Output, status: i32, words: &str| {
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(status), "{said}");
        assert!(said.contains(words), "{said}");
    };
    let input = fixtures().join("healthy.pickle");
    refused(export(&input, &in_folder("run.csv")), 2, "cannot detect the format");
    refused(export(&input, &in_folder("no/such/run.parquet")), 1, "cannot write");
    refused(export(&in_folder("none.pickle"), &in_folder("run.parquet")), 1, "none.pickle");
    let log = PathBuf::from("../../tests/fixtures/logs/four-ranks.log");
    refused(export(&log, &in_folder("run.pb.gz")), 1, "no allocations");
    refused(export(&log, &in_folder("run.pickle")), 1, "no allocations");
    let (input, output) = (input.display().to_string(), in_folder("run.parquet"));
    let output = output.to_str().unwrap();
    refused(whyoom(&["export", &input, "-o", output, "--process", "41"]), 2, "all processes");
    assert_eq!(names(folder.path()), Vec::<String>::new());
}

#[test]
fn a_file_that_is_there_stays_until_the_new_one_is_whole() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("run.parquet");
    std::fs::write(&file, "old").unwrap();
    assert!(!export(&folder.path().join("none"), &file).status.success());
    assert_eq!(std::fs::read(&file).unwrap(), b"old");
    assert!(export(&fixtures().join("healthy.pickle"), &file).status.success());
    assert!(std::fs::read(&file).unwrap().starts_with(b"PAR1"));
}
