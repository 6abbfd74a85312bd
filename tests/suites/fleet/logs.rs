//! What containers print, in the frames of their runtimes: the verdicts are those of the text alone.

use std::{
    collections::BTreeMap,
    fs::{self, OpenOptions},
    io::Write as _,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, bail, ensure};
use harness::{Build, Held, documents::Why, files, must_succeed, root};

use super::{
    journal::Journal,
    place::{Node, rows},
};

/// How a log is written.
#[derive(Clone, Copy)]
enum Frame {
    Docker,
    Kubernetes,
    Slurm,
    Journald,
}

const FRAMES: [Frame; 4] = [Frame::Docker, Frame::Kubernetes, Frame::Slurm, Frame::Journald];

/// Texts from which `whyoom why` concludes although nothing failed in them: no incident.
const NO_FAILURE: [&str; 1] = ["pool_larger_than_the_card.txt"];

/// Kubernetes cuts longer lines.
const LONGEST_LINE: usize = 16 << 10;

impl Frame {
    /// The name of the log of a case.
    fn log(self, number: usize) -> String {
        match self {
            Self::Docker => format!("logs/docker-{number:03}.log"),
            Self::Kubernetes => {
                format!("logs/pods/team_case{number:03}-6d4cf56db6-x7k2p_uid/main/0.log")
            }
            Self::Slurm => format!("logs/slurm-{number:03}.log"),
            Self::Journald => format!("state/journald/-/case{number:03}.log"),
        }
    }

    /// A line as the runtime writes it.
    fn line(self, line: &str) -> Result<String> {
        let time = "2026-11-18T03:04:05.123456789Z";
        Ok(match self {
            Self::Docker => {
                let log = serde_json::to_string(&format!("{line}\n"))?;
                format!("{{\"log\":{log},\"stream\":\"stderr\",\"time\":\"{time}\"}}\n")
            }
            Self::Kubernetes => {
                let mut framed = String::new();
                let mut rest = line;
                while rest.len() > LONGEST_LINE {
                    let (piece, more) = rest.split_at(rest.floor_char_boundary(LONGEST_LINE));
                    framed += &format!("{time} stderr P {piece}\n");
                    rest = more;
                }
                framed + &format!("{time} stderr F {rest}\n")
            }
            Self::Slurm | Self::Journald => format!("{line}\n"),
        })
    }
}

/// A text and what `whyoom why` says of it.
struct Case {
    path: PathBuf,
    text: String,
    cause: String,
}

pub(super) fn verdicts() -> Result<Held> {
    let cases = cases()?;
    let mut lost = Vec::new();
    let mut checked = 0;
    let journal = Journal::start()?;
    let node = Node::new("fleet-logs", &settings(&journal)?)?;
    let logs = write(&cases, &node, &journal)?;
    must_succeed(node.agent()?.arg("--once"))?;
    let mut said: BTreeMap<PathBuf, Vec<String>> = BTreeMap::new();
    for incident in rows(&node.path("archive"))? {
        said.entry(incident.file.into()).or_default().push(incident.cause);
    }
    for (log, case) in logs {
        checked += 1;
        let name = case.path.file_name().context("a case without a name")?.to_string_lossy();
        match said.remove(&log).as_deref() {
            None if NO_FAILURE.contains(&&*name) => {}
            Some([cause]) if *cause == case.cause && !NO_FAILURE.contains(&&*name) => {}
            found => {
                lost.push(format!("{}: {name}: {found:?} and not {}", log.display(), case.cause));
            }
        }
    }
    ensure!(said.is_empty(), "incidents of no case: {said:?}");
    if !lost.is_empty() {
        bail!("{} of {checked} differ:\n{}", lost.len(), lost.join("\n"));
    }
    Ok(Held::new(format!(
        "{} logs in four frames: the verdicts of their texts alone; {} texts tell no failure",
        checked - NO_FAILURE.len(),
        NO_FAILURE.len()
    )))
}

fn settings(journal: &Journal) -> Result<String> {
    let whyoom = Build::ready()?.whyoom();
    Ok(format!(
        "archive = '{}'\nwhyoom = '{}'\njournald = '{}'\nwho-seconds = 0\n",
        harness::fresh("fleet-logs")?.join("archive").display(),
        whyoom.display(),
        journal.folder()?.display()
    ))
}

/// The texts of practice that tell of a failure.
fn cases() -> Result<Vec<Case>> {
    let mut cases = Vec::new();
    for folder in fs::read_dir(root().join("tests/scenarios/practice"))? {
        let folder = folder?.path();
        if !folder.is_dir() {
            continue;
        }
        for path in files(&folder)? {
            if path.extension().is_some_and(|kind| kind == "txt") {
                cases.extend(case(&path)?);
            }
        }
    }
    ensure!(cases.len() > 50, "only {} texts", cases.len());
    Ok(cases)
}

fn case(path: &Path) -> Result<Option<Case>> {
    let why = Why::ask(Build::ready()?, &[path])?;
    // A text in which nothing failed is no incident, and one without a message is no log of a failure.
    let is_failure = why.verdict.cause != "healthy" && !why.incidents.is_empty();
    let text = String::from_utf8_lossy(&fs::read(path)?).into_owned();
    let path = path.to_owned();
    Ok(is_failure.then_some(Case { path, text, cause: why.verdict.cause }))
}

/// Writes all logs at once, line by line in turns, as containers do.
fn write<'c>(
    cases: &'c [Case],
    node: &Node,
    journal: &Journal,
) -> Result<Vec<(PathBuf, &'c Case)>> {
    let mut logs = Vec::new();
    let mut pending = Vec::new();
    for (number, case) in cases.iter().enumerate() {
        // Each case in one frame; all frames have many cases.
        let frame = FRAMES[number % FRAMES.len()];
        let path = node.path(&frame.log(number));
        let file = match frame {
            Frame::Journald => None,
            _ => {
                fs::create_dir_all(path.parent().context("a log without a folder")?)?;
                Some(OpenOptions::new().append(true).create(true).open(&path)?)
            }
        };
        let lines: Vec<&str> = case.text.lines().collect();
        pending.push((number, frame, file, lines.into_iter()));
        logs.push((path, case));
    }
    let mut is_written = true;
    while is_written {
        is_written = false;
        for (number, frame, file, lines) in &mut pending {
            let Some(line) = lines.next() else { continue };
            is_written = true;
            match file {
                Some(file) => file.write_all(frame.line(line)?.as_bytes())?,
                None => journal.send(&format!("case{number:03}"), line)?,
            }
        }
    }
    Ok(logs)
}
