//! Where output goes: `-` is standard output or refused, and nothing is overwritten unasked.
#![allow(clippy::disallowed_methods, reason = "a test's own files")]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use std::{
    path::{Path, PathBuf},
    process::{Command, Output},
};

/// The command in a folder of its own, with a snapshot there.
struct Desk {
    folder: tempfile::TempDir,
}

const SNAPSHOT: &str = "oom.pickle";

impl Desk {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let fixture = "../../tests/fixtures/snapshots/fragmented-oom.pickle";
        std::fs::copy(fixture, folder.path().join(SNAPSHOT)).unwrap();
        Self { folder }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn whyoom(&self, words: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_whyoom"));
        command.args(words).current_dir(&self.folder).output().unwrap()
    }

    fn refused(&self, words: &[&str], said: &[&str]) {
        let output = self.whyoom(words);
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{words:?}: {error}");
        for expected in said {
            assert!(error.contains(expected), "{words:?}: {error}");
        }
    }

    fn done(&self, words: &[&str]) -> Output {
        let output = self.whyoom(words);
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{words:?}: {error}");
        output
    }

    fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(&self.folder).unwrap().flatten();
        entries.map(|entry| entry.file_name().into_string().unwrap()).collect()
    }
}

#[test]
fn a_dash_is_standard_output() {
    let desk = Desk::new();
    let report = desk.done(&["report", SNAPSHOT, "-o", "-"]);
    assert!(report.stdout.starts_with(b"<!doctype html>") && report.stdout.ends_with(b"</html>\n"));
    assert!(String::from_utf8(report.stderr).unwrap().contains("the report contains: "));
    for (format, begins) in [("parquet", &b"PAR1"[..]), ("pprof", b"\x1f\x8b")] {
        let export = desk.done(&["export", SNAPSHOT, "--to", format, "-o", "-"]);
        assert!(export.stdout.starts_with(begins), "{format}");
        // The same bytes as in a file.
        let name = format!("run-{format}");
        desk.done(&["export", SNAPSHOT, "--to", format, "-o", &name]);
        assert_eq!(export.stdout, std::fs::read(desk.path(&name)).unwrap(), "{format}");
    }
    assert!(!desk.names().contains(&"-".to_owned()), "{:?}", desk.names());
}

#[test]
fn a_dash_is_refused_where_standard_output_has_something_else() {
    let desk = Desk::new();
    desk.refused(&["export", SNAPSHOT, "-o", "-"], &["add --to"]);
    desk.refused(&["why", SNAPSHOT, "--report", "-"], &["whyoom report INPUTS -o -"]);
    desk.refused(&["run", "-o", "-", "--", "true"], &["a recording is a folder"]);
    desk.refused(&["run", "--json", "-", "--", "true"], &["belongs to the program"]);
    desk.refused(&["run", "--report", "-", "--", "true"], &["belongs to the program"]);
    desk.refused(&["fit", "--report", "-", "--", "true"], &["the answer goes to"]);
    desk.refused(&["lab", "run", "--log", "-", "--", "true"], &["belongs to the program"]);
    assert_eq!(desk.names(), [SNAPSHOT]);
}

/// Every command that writes a file, with the file's name missing; and whether it can be run here.
const WRITERS: [(&[&str], &[&str], bool); 6] = [
    (&["report", SNAPSHOT, "-o"], &[], true),
    (&["export", SNAPSHOT, "--to", "perfetto", "-o"], &[], true),
    (&["why", SNAPSHOT, "--report"], &[], true),
    // These need the recorder and the lab beside the executable.
    (&["run", "--json"], &["--", "false"], false),
    (&["run", "--report"], &["--", "false"], false),
    (&["fit", "--report"], &["--", "false"], false),
];

#[test]
fn nothing_is_overwritten_unless_forced() {
    let desk = Desk::new();
    let file = desk.path("notes.txt");
    for (words, rest, can_run) in WRITERS {
        std::fs::write(&file, "mine").unwrap();
        let words = [words, &["notes.txt"]].concat();
        desk.refused(&[&words[..], rest].concat(), &["notes.txt already exists", "--force"]);
        assert_eq!(std::fs::read(&file).unwrap(), b"mine", "{words:?}");
        if can_run {
            desk.done(&[&words[..], &["--force"]].concat());
            assert_ne!(std::fs::read(&file).unwrap(), b"mine", "{words:?}");
        }
    }
}

#[test]
fn a_file_without_contents_is_no_loss() {
    let desk = Desk::new();
    let write = |path: &Path| std::fs::write(path, "").unwrap();
    write(&desk.path("report.html"));
    desk.done(&["report", SNAPSHOT]);
    assert!(desk.path("report.html").metadata().unwrap().len() > 1000);
    desk.refused(&["report", SNAPSHOT], &["report.html already exists"]);
}
