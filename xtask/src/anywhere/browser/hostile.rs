//! What somebody may send to harm its reader, dropped on the page: refused or judged as by the command, in bounds.

use std::{fs, path::Path};

use anyhow::{Result, ensure};
use harness::{Held, empty_folder, root};
use whyoom_trace::Bytes;

use super::{
    answers::difference,
    page::{Page, Took},
};
use crate::tools::{file_name, silent_python};

/// There must be at least as many: the suite's pickles and texts, and archives.
const FEWEST: usize = 37;
/// What each may take, from the drop to the answer.
const MOST_MILLISECONDS: f64 = 20_000.0;
/// What the page and its worker may take.
const MOST_MEMORY: Bytes = Bytes(2 << 30);
/// Longer than this nobody waits for a page to answer.
const MOST_SILENT: f64 = 1000.0;
/// How the page tells that the reader broke: that is a fault, whatever the file is.
const BROKE: [&str; 2] = ["stopped unexpectedly", "not enough memory"];

pub(in crate::anywhere) fn run(page: &Page) -> Result<Held> {
    let folder = empty_folder("anywhere-hostile")?;
    silent_python("hostile_files.py", &[&root().join("tests/suites/hostile/pickles.py"), &folder])?;
    let files = harness::files(&folder)?;
    ensure!(files.len() >= FEWEST, "{} files, not {FEWEST}", files.len());
    let answers = empty_folder("anywhere-hostile-answers")?;
    let took = page.answers(&files, 0, &answers)?;
    println!("{:<48} {:>9} {:>9} {:>12}  answer", "", "time", "silent", "memory");
    let mut wrong = Vec::new();
    for took in &took {
        let file = &files[took.number];
        let said = said(took, &answers);
        println!(
            "{:<48} {:>6.0} ms {:>6.0} ms {:>12}  {}",
            file_name(file),
            took.verdict_milliseconds,
            took.silent_milliseconds,
            Bytes(took.most_memory).to_string(),
            said.chars().take(90).collect::<String>()
        );
        let complaint = complaint(took, &said)
            .map_or_else(|| difference(file, took.number, &answers), |it| Ok(Some(it)))?;
        wrong.extend(complaint.map(|complaint| format!("{}: {complaint}", file_name(file))));
    }
    ensure!(wrong.is_empty(), "{}", wrong.join("\n"));
    Ok(Held::new(format!(
        "{} hostile files: refused or judged as by the command, each in {:.0} s and all in {MOST_MEMORY}",
        files.len(),
        MOST_MILLISECONDS / 1e3
    )))
}

/// What the page says of a file.
fn said(took: &Took, answers: &Path) -> String {
    let error = fs::read_to_string(answers.join(format!("{}.error", took.number)));
    error.unwrap_or_else(|_| "(a verdict)".to_owned())
}

fn complaint(took: &Took, said: &str) -> Option<String> {
    if let Some(trouble) = took.trouble.first() {
        return Some(trouble.clone());
    }
    if BROKE.iter().any(|broke| said.contains(broke)) {
        return Some(said.to_owned());
    }
    let (verdict, silent) = (took.verdict_milliseconds, took.silent_milliseconds);
    if took.most_memory == 0 {
        return Some("its memory was not measured".to_owned());
    }
    let in_bounds = verdict <= MOST_MILLISECONDS
        && silent <= MOST_SILENT
        && Bytes(took.most_memory) <= MOST_MEMORY;
    (!in_bounds).then(|| "out of bounds".to_owned())
}
