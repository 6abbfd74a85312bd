//! The report: what is in the file, and what never is.
#![allow(clippy::disallowed_methods, reason = "a test's own files")]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use std::{
    path::{Path, PathBuf},
    process::{Command, Output},
};

use serde_json::Value;

fn fixture(name: &str) -> PathBuf {
    PathBuf::from(".").join("../../tests/fixtures").join(name)
}

fn whyoom(words: &[&str], paths: &[&Path]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_whyoom"));
    let output = command.args(words).args(paths).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    output
}

/// What the page of a report shows.
fn document(file: &str) -> Value {
    serde_json::from_slice(&whyoom(&["report", "--json"], &[&fixture(file)]).stdout).unwrap()
}

/// A file that is gone when the test is over.
struct Gone(PathBuf);

impl Gone {
    fn new(name: &str) -> Self {
        Self(std::env::temp_dir().join(format!("whyoom-test-{}-{name}", std::process::id())))
    }
}

impl Drop for Gone {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// The numbers of a column: its first, then differences.
fn column(column: &Value) -> Vec<i64> {
    let differences = column.as_array().unwrap().iter().map(|number| number.as_i64().unwrap());
    differences
        .scan(0, |sum, difference| {
            *sum += difference;
            Some(*sum)
        })
        .collect()
}

#[test]
fn a_report_is_one_file_that_fetches_nothing() {
    let file = Gone::new("report.html");
    let snapshot = fixture("snapshots/fragmented-oom.pickle");
    let told = whyoom(&["report", "-o"], &[&file.0, &snapshot]);
    let told = String::from_utf8(told.stdout).unwrap();
    assert!(told.contains("): open it in a browser"), "{told}");
    let page = std::fs::read_to_string(&file.0).unwrap();
    assert!(page.starts_with("<!doctype html>") && page.contains("default-src 'none'"));
    let (before, _) = page.split_once("<script").unwrap();
    assert!(
        before.contains("<pre>error[fragmented-cache]: "),
        "the verdict is there without a script"
    );
    assert!(page.contains("<script id=\"whyoom-data\" type=\"application/octet-stream\">H4sI"));
    for fetched in ["<link", "<img", " src=", "@import", "=\"https://", "url(http"] {
        assert!(!page.contains(fetched), "{fetched}");
    }
    for handler in [" onclick=", " onload=", " onerror="] {
        assert!(!page.contains(handler), "{handler}");
    }
}

#[test]
fn why_writes_it_too_and_leaves_its_own_output_alone() {
    let file = Gone::new("why.html");
    let snapshot = fixture("snapshots/fragmented-oom.pickle");
    let output = whyoom(&["why", "--json", "--report"], &[&file.0, &snapshot]);
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(answer["verdict"]["cause"], "fragmented-cache");
    assert!(String::from_utf8(output.stderr).unwrap().contains("whyoom: wrote "));
    assert!(std::fs::read_to_string(&file.0).unwrap().contains("whyoom-data"));
}

#[test]
fn the_document_holds_what_the_verdict_is_made_from() {
    let report = document("snapshots/fragmented-oom.pickle");
    assert_eq!((&report["schema"], &report["version"]), (&"whyoom.report".into(), &1.into()));
    assert_eq!(report["why"]["verdict"]["cause"], "fragmented-cache");
    assert!(report["text"].as_str().unwrap().starts_with("error[fragmented-cache]: "));
    assert!(!report["text"].as_str().unwrap().contains('\u{1b}'), "no colours");
    assert_eq!(report["replay"]["runs"][0]["device"], "GPU 0");
    let space = &report["spaces"][0];
    let (lowest, highest) = (column(&space["curve"]["lowest"]), column(&space["curve"]["highest"]));
    assert!(lowest.iter().zip(&highest).all(|(lowest, highest)| lowest <= highest));
    assert_eq!(highest.iter().max().copied(), space["peak"]["bytes"].as_i64());
    assert_eq!(space["blocks"]["complete"], true);
    assert!(space["modules"].is_null(), "a snapshot tells of no module");
    let blocks = |key: &str| space["blocks"][key].as_array().unwrap().len() as u64;
    assert_eq!(space["blocks"]["seen"].as_u64(), Some(blocks("size")));
    assert_eq!((blocks("died"), blocks("stack")), (blocks("size"), blocks("size")));
    // Every map's bytes are those that were in use then.
    let maps = space["maps"].as_array().unwrap();
    let moment = |name| maps.iter().find(|map| map["moment"] == name).unwrap();
    let runs = |segment: &Value| segment["runs"].as_array().unwrap().clone();
    let segments = moment("peak")["segments"].as_array().unwrap();
    let in_use = segments.iter().flat_map(runs).map(|run| run[1].as_i64().unwrap()).sum::<i64>();
    assert_eq!(Some(in_use), space["peak"]["bytes"].as_i64());
    let incident = &space["incidents"][0];
    assert_eq!(incident["event"], moment("out of memory")["event"]);
    // What is named is there.
    let stack = incident["stack"].as_u64().unwrap() as usize;
    let place = report["places"][stack].as_u64().unwrap() as usize;
    assert!(report["strings"][place].as_str().unwrap().contains("block.py"));
}

#[test]
fn a_log_has_a_report_too() {
    let report = document("logs/four-ranks.log");
    assert!(report["why"]["incidents"].as_array().is_some_and(|all| all.len() > 1));
    assert_eq!(report["spaces"].as_array().map(Vec::len), Some(0));
    assert!(report["replay"].is_null() && report["replay_note"].is_string());
}

/// Pieces of a pickle: what Python writes for a snapshot.
mod pickled {
    pub(super) fn text(text: &str) -> Vec<u8> {
        let length = u32::try_from(text.len()).unwrap().to_le_bytes();
        [b"X".as_slice(), &length, text.as_bytes()].concat()
    }

    pub(super) fn number(number: i32) -> Vec<u8> {
        [b"J".as_slice(), &number.to_le_bytes()].concat()
    }

    pub(super) fn list(items: &[Vec<u8>]) -> Vec<u8> {
        [b"](".as_slice(), &items.concat(), b"e"].concat()
    }

    pub(super) fn dict(items: &[(&str, Vec<u8>)]) -> Vec<u8> {
        let items = items.iter().map(|(key, value)| [text(key), value.clone()].concat());
        [b"}(".as_slice(), &items.collect::<Vec<_>>().concat(), b"u"].concat()
    }

    pub(super) fn file(value: &[u8]) -> Vec<u8> {
        [b"\x80\x02".as_slice(), value, b"."].concat()
    }
}

/// A snapshot of a program in somebody's home folder, which allocates and runs out of memory.
fn snapshot_of_alice() -> Vec<u8> {
    use pickled::{dict, file, list, number, text};
    let frame = |name: &str, path: &str, line| {
        dict(&[("name", text(name)), ("filename", text(path)), ("line", number(line))])
    };
    let frames = list(&[
        frame("linear", "/home/alice/env/lib/python3.11/site-packages/torch/nn/linear.py", 7),
        frame("forward", "/home/alice/project/model/block.py", 12),
        frame("main", "/home/alice/project/train.py", 61),
    ]);
    let entry = |action: &str, size| {
        dict(&[
            ("action", text(action)),
            ("addr", number(0x10_0000)),
            ("size", number(size)),
            ("stream", number(0)),
            ("device_free", number(0)),
            ("frames", frames.clone()),
        ])
    };
    let segment = entry("segment_alloc", 20 << 20);
    let trace = list(&[segment, entry("alloc", 20 << 20), entry("oom", 40 << 20)]);
    file(&dict(&[("segments", list(&[])), ("device_traces", list(&[trace]))]))
}

#[test]
fn paths_are_told_without_the_folders_of_a_person() {
    let (snapshot, page) = (Gone::new("alice.pickle"), Gone::new("alice.html"));
    std::fs::write(&snapshot.0, snapshot_of_alice()).unwrap();
    let shown = |words: &[&str]| String::from_utf8(whyoom(words, &[&snapshot.0]).stdout).unwrap();
    let report = shown(&["report", "--json"]);
    for file in ["\"train.py\"", "\"model/block.py\"", "\"torch/nn/linear.py\""] {
        assert!(report.contains(file), "{file} in {report}");
    }
    for told in ["/home/alice", "alice/env"] {
        assert!(!report.contains(told), "{told} in {report}");
    }
    whyoom(&["report", "-o"], &[&page.0, &snapshot.0]);
    let (before, _) = std::fs::read_to_string(&page.0)
        .unwrap()
        .split_once("<script")
        .map(|(before, after)| (before.to_owned(), after.to_owned()))
        .unwrap();
    assert!(!before.contains("/home/alice"), "{before}");
    let full = shown(&["report", "--json", "--full-paths"]);
    assert!(full.contains("\"/home/alice/project/train.py\""), "{full}");
}

#[test]
fn no_report_of_a_snapshot_names_a_home_folder() {
    let folder = std::fs::read_dir(fixture("snapshots")).unwrap();
    let files = folder.map(|entry| entry.unwrap().path());
    let snapshots: Vec<PathBuf> =
        files.filter(|file| file.extension().is_some_and(|end| end == "pickle")).collect();
    assert!(snapshots.len() > 10);
    for snapshot in snapshots {
        let report = String::from_utf8(whyoom(&["report", "--json"], &[&snapshot]).stdout).unwrap();
        assert!(!report.contains("/home/"), "{}", snapshot.display());
    }
}

#[test]
fn diff_writes_a_page_of_its_own() {
    let file = Gone::new("diff.html");
    let (a, b) = (fixture("snapshots/healthy.pickle"), fixture("snapshots/growth.pickle"));
    let output = whyoom(&["diff", "--json", "--report"], &[&file.0, &a, &b]);
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(String::from_utf8(output.stderr).unwrap().contains("whyoom: wrote "));
    let page = std::fs::read_to_string(&file.0).unwrap();
    assert!(page.starts_with("<!doctype html>") && page.contains("default-src 'none'"));
    let (before, _) = page.split_once("<script").unwrap();
    let first = answer["answer"].as_str().unwrap().split(' ').take(6).collect::<Vec<_>>().join(" ");
    assert!(before.contains(&format!("<pre>{first}")), "the answer is there without a script");
    for fetched in ["<link", "<img", " src=", "@import", "=\"https://", "url(http"] {
        assert!(!page.contains(fetched), "{fetched}");
    }
    let mut again = Command::new(env!("CARGO_BIN_EXE_whyoom"));
    let again = again.args(["diff", "--report"]).args([&file.0, &a, &b]).output().unwrap();
    assert_eq!(again.status.code(), Some(2), "it is not overwritten unasked");
    whyoom(&["diff", "--force", "--report"], &[&file.0, &a, &b]);
}
