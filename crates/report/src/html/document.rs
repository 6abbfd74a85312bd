//! The document that the page shows: web/src/data.ts describes it.

use std::io;

use serde::Serialize;
use serde_json::Value;
use whyoom_memory::{Model, Process};
use whyoom_redact::Paths;
use whyoom_trace::{
    ProcessId, Tables,
    facts::{self, Fact, FactKind},
};

use super::{Report, names::Names, page::Shell, space_json::SpaceJson, spaces::spaces};
use crate::{
    Answer, Screen, VerdictParts, contents::LEFT_OUT, text::Detail, write_fit, write_fit_json,
    write_replay_json, write_verdict, write_verdict_json,
};

/// The version of the document. A change that could break a reader raises it.
const VERSION: u32 = 1;
/// What settings have that nobody set.
const UNSET: [&str; 4] = ["", "0", "-1", "false"];
/// As wide as text without a terminal may be.
const TEXT_WIDTH: usize = 100;

#[derive(Serialize)]
pub(super) struct Document<'a> {
    schema: &'static str,
    version: u32,
    whyoom: &'static str,
    pub(super) title: String,
    simulated: Option<&'a str>,
    /// What a reader sees of the run and of the machine, in a sentence.
    pub(super) contains: String,
    why: Option<Value>,
    /// What the terminal shows, without colour.
    pub(super) text: String,
    fit: Option<Value>,
    replay: Option<Value>,
    replay_note: Option<&'a str>,
    #[serde(flatten)]
    names: Names<'a>,
    processes: Vec<ProcessJson<'a>>,
    spaces: Vec<SpaceJson>,
    /// How paths are shortened as the document is written.
    #[serde(skip)]
    pub(super) paths: Option<Paths>,
}

#[derive(Serialize)]
struct ProcessJson<'a> {
    name: &'a str,
    /// For people, in order.
    facts: Vec<(String, String)>,
}

/// Names of nothing, for a report without memory.
static NO_TABLES: std::sync::LazyLock<Tables> = std::sync::LazyLock::new(Tables::default);

impl<'a> Document<'a> {
    pub(super) fn of(report: &'a Report<'a>) -> io::Result<Self> {
        let mut names = Names::of(report.memory.map_or(&NO_TABLES, |(_, tables)| tables));
        let spaces = report.memory.map(|(model, _)| spaces(model, &mut names));
        let (spaces, processes) = spaces.unwrap_or_default();
        let process = |&process: &ProcessId| {
            let (model, tables) = report.memory?;
            Some(ProcessJson {
                name: tables.process_name(process),
                facts: facts(model, tables, process),
            })
        };
        let paths = (!report.full_paths).then(|| report.paths.clone().with_files(names.files()));
        let shortened =
            |text: &str| paths.as_ref().map_or(text.to_owned(), |paths| paths.shorten(text).into());
        let replay = |out: &mut Vec<u8>| write_replay_json(report.replay, out);
        Ok(Self {
            schema: "whyoom.report",
            version: VERSION,
            whyoom: env!("CARGO_PKG_VERSION"),
            title: shortened(&report.title),
            simulated: report.simulated.as_deref(),
            contains: format!("{}. {LEFT_OUT}.", report.contents().join("; ")),
            why: report.answer.as_ref().map(why).transpose()?,
            text: shortened(&text(report)?),
            fit: report.fit.map(|fit| parsed(|out| write_fit_json(fit, out))).transpose()?,
            replay: (!report.replay.is_empty()).then(|| parsed(replay)).transpose()?,
            replay_note: report.replay_note.as_deref(),
            names,
            processes: processes.iter().filter_map(process).collect(),
            spaces,
            paths,
        })
    }
}

impl Document<'_> {
    /// What of it is text.
    pub(super) fn shell(&self) -> Shell<'_> {
        let (title, text, contains) = (&self.title, &self.text, &self.contains);
        Shell { title, text, contains, paths: self.paths.as_ref() }
    }
}

/// The document of `whyoom why --json --live`.
fn why(answer: &Answer<'_>) -> io::Result<Value> {
    let parts = VerdictParts { live: true, ..VerdictParts::default() };
    parsed(|out| write_verdict_json(answer, parts, out))
}

/// A document of another command, as it writes it.
fn parsed(write: impl FnOnce(&mut Vec<u8>) -> io::Result<()>) -> io::Result<Value> {
    let mut bytes = Vec::new();
    write(&mut bytes)?;
    Ok(serde_json::from_slice(&bytes)?)
}

/// What the terminal shows, without colour.
fn text(report: &Report<'_>) -> io::Result<String> {
    let mut bytes = Vec::new();
    if let Some(answer) = &report.answer {
        write_verdict(answer, Detail::Short, TEXT_WIDTH, &mut bytes)?;
    }
    if let Some(fit) = report.fit {
        write_fit(fit, Screen { width: TEXT_WIDTH, unicode: true }, &mut bytes)?;
    }
    Ok(anstream::adapter::strip_str(&String::from_utf8_lossy(&bytes)).to_string())
}

fn facts(model: &Model, tables: &Tables, process: ProcessId) -> Vec<(String, String)> {
    let mut facts = model.process(process).map(own_facts).unwrap_or_default();
    let command = model.fact(process, FactKind::Command).and_then(|fact| match fact {
        Fact::Command { words } => Some(tables.text(words).replace('\0', " ")),
        _ => None,
    });
    facts.extend(command.map(|command| ("command".to_owned(), command)));
    let tells =
        |(name, value): &(&str, &str)| !UNSET.contains(value) && !name.starts_with(facts::OWN);
    let settings = model.own_settings(process).filter(tells);
    facts.extend(settings.map(|(name, value)| (name.to_owned(), value.to_owned())));
    facts
}

fn own_facts(process: &Process) -> Vec<(String, String)> {
    let mut facts = Vec::new();
    let mut tell = |name: &str, value: String| facts.push((name.to_owned(), value));
    tell(
        "ended",
        if process.exited().is_some() { "on its own" } else { "killed, or still running" }
            .to_owned(),
    );
    for (device, contexts) in process.contexts() {
        tell(&format!("contexts on {device}"), contexts.open.len().to_string());
    }
    let counts = [
        ("code loaded", process.code_loads()),
        ("failed calls", process.failures_seen()),
        ("failed frees", process.refused_frees_seen()),
    ];
    for (name, count) in counts.into_iter().filter(|(_, count)| *count > 0) {
        tell(name, count.to_string());
    }
    facts
}
