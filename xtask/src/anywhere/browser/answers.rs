//! The page's answers beside the command's.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result, ensure};
use harness::{Build, Held, empty_folder, must_succeed};

use super::{inputs, network, page::Page};
use crate::tools::file_name;

/// Differences beyond these say nothing new.
const MOST_SHOWN: usize = 10;
/// The command's status of an input that it cannot read.
const REFUSED: i32 = 1;
/// Of a difference, so many bytes around it.
const AROUND: usize = 40;

pub(in crate::anywhere) fn run(page: &Page) -> Result<Held> {
    let ways = requests_are_seen(page)?;
    println!("{:<28} {ways:>6}", "requests that the log tells");
    let (files, skipped) = inputs::all()?;
    let folder = empty_folder("anywhere-answers")?;
    let took = page.answers(&files, 0, &folder)?;
    let mut wrong = Vec::new();
    for took in &took {
        let file = &files[took.number];
        let mut complaints = took.trouble.clone();
        complaints.extend(difference(file, took.number, &folder)?);
        if !complaints.is_empty() {
            wrong.push(format!("{}: {}", file.display(), complaints.join("; ")));
        }
    }
    let equal = files.len() - wrong.len();
    println!("{:<28} {equal:>6} of {:>6}", "equal to the command's", files.len());
    skipped.iter().for_each(|skipped| println!("skipped: {skipped}"));
    wrong.iter().take(MOST_SHOWN).for_each(|wrong| println!("differs: {wrong}"));
    ensure!(wrong.is_empty(), "{} of {} differ", wrong.len(), files.len());
    let without = if skipped.is_empty() { "" } else { "; without ../shared" };
    Ok(Held::new(format!(
        "{equal} answers in Chromium equal to the command's, to the byte; no request{without}"
    )))
}

/// An image, a fetch, a socket and a fetch of a worker are seen in Chromium's log; how many requests that were.
fn requests_are_seen(page: &Page) -> Result<usize> {
    let folder = empty_folder("anywhere-network")?;
    let log = folder.join("network.json");
    must_succeed(page.script("asking.js")?.arg(&folder).arg(&log))?;
    let asked = network::asked(&log)?;
    for way in ["image", "fetch", "socket", "worker"] {
        ensure!(asked.iter().any(|url| url.ends_with(way)), "{way} is not in Chromium's log");
    }
    Ok(asked.len())
}

/// What differs between the page's answer to a file and the command's, if anything does.
pub(super) fn difference(file: &Path, number: usize, folder: &Path) -> Result<Option<String>> {
    let mut command = Command::new(Build::ready()?.whyoom());
    command.args(["why", "--json"]).arg(file_name(file)).env("HOME", folder);
    let output = command.current_dir(file.parent().context("a folder")?).output()?;
    let of_page = |ending: &str| -> PathBuf { folder.join(format!("{number}.{ending}")) };
    let refused = fs::read_to_string(of_page("error"));
    match output.status.code() {
        Some(0) => {}
        Some(REFUSED) => {
            let wrong = "the command refuses it, and the page does not";
            return Ok(refused.is_err().then(|| wrong.to_owned()));
        }
        _ => return Ok(Some(format!("the command broke: {}", output.status))),
    }
    let Ok(answer) = fs::read(of_page("json")) else {
        return Ok(Some(format!("the page refuses it: {}", refused.context("no answer at all")?)));
    };
    Ok(first_difference(&output.stdout, &answer))
}

fn first_difference(of_command: &[u8], of_page: &[u8]) -> Option<String> {
    if of_command == of_page {
        return None;
    }
    let mut pairs = of_command.iter().zip(of_page);
    let at = pairs.position(|(one, other)| one != other);
    let at = at.unwrap_or_else(|| of_command.len().min(of_page.len()));
    let around = |bytes: &[u8]| {
        let start = at.saturating_sub(AROUND).min(bytes.len());
        let end = bytes.len().min(at + AROUND);
        String::from_utf8_lossy(&bytes[start..end]).replace('\n', " ")
    };
    Some(format!("from byte {at}: {} | {}", around(of_command), around(of_page)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_difference_is_found() {
        assert_eq!(first_difference(b"{\"a\": 1}", b"{\"a\": 1}"), None);
        for other in ["{\"a\": 2}", "{\"a\": 1", "{\"a\": 1}\n", ""] {
            assert!(first_difference(b"{\"a\": 1}", other.as_bytes()).is_some(), "{other}");
        }
    }
}
