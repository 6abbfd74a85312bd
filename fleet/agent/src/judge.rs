//! Asks `whyoom`: why memory ran out, who holds it, which settings would have stopped it.

use std::{
    io,
    path::PathBuf,
    time::{Duration, Instant},
};

use serde::Deserialize;
use serde_json::Value;
use whyoom_files::untrusted;
use whyoom_incident::Source;

use crate::bounded::{self, Input};

/// A verdict takes a tenth of a second; a snapshot of a gigabyte takes longer.
const WHY_LIMIT: Duration = Duration::from_secs(60);
/// A driver may hang.
const WHO_LIMIT: Duration = Duration::from_secs(10);
/// A replay of a ring takes seconds.
const REPLAY_LIMIT: Duration = Duration::from_secs(120);
/// An answer serves for as long.
const WHO_LASTS: Duration = Duration::from_secs(2);

/// `whyoom`, and what it last said of the GPUs.
#[derive(Debug)]
pub(crate) struct Judge {
    whyoom: PathBuf,
    who: Option<(Instant, Option<Value>)>,
}

/// What it says of one failure.
#[derive(Debug)]
pub(crate) struct Judged {
    pub(crate) verdict: Verdict,
    pub(crate) request: Option<Request>,
    /// All of it.
    pub(crate) document: Value,
    /// Whether there was a history to replay.
    pub(crate) has_history: bool,
    /// Settings that would have stopped it; `None` where none was tried.
    pub(crate) served_by: Option<Vec<String>>,
}

/// The document of `whyoom why --json`, as far as incidents have columns for it.
#[derive(Debug, Deserialize)]
struct Why {
    schema: String,
    version: u32,
    verdict: Verdict,
    incidents: Vec<Request>,
}

/// The verdict.
#[derive(Debug, Deserialize)]
pub(crate) struct Verdict {
    pub(crate) cause: String,
    pub(crate) strength: String,
    pub(crate) headline: String,
    pub(crate) device: Option<i64>,
    pub(crate) call_sites: Vec<CallSite>,
    pub(crate) remedies: Vec<Remedy>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct CallSite {
    pub(crate) call_site: String,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Remedy {
    pub(crate) paste: Option<String>,
}

/// The request that failed.
#[derive(Debug, Deserialize)]
pub(crate) struct Request {
    pub(crate) requested_bytes: Option<i64>,
    pub(crate) capacity_bytes: Option<i64>,
    pub(crate) free_bytes: Option<i64>,
    pub(crate) allocated_bytes: Option<i64>,
    pub(crate) reserved_bytes: Option<i64>,
}

/// What is judged.
pub(crate) enum Matter {
    /// A text from a log.
    Text(String),
    /// A snapshot or a recording.
    Path(PathBuf, Source),
}

/// The document of `whyoom replay --json`, as far as it is needed.
#[derive(Debug, Deserialize)]
struct Replay {
    runs: Vec<Run>,
}

/// One process on one GPU.
#[derive(Debug, Deserialize)]
struct Run {
    rows: Vec<Row>,
}

/// One allocator.
#[derive(Debug, Deserialize)]
struct Row {
    allocator: String,
    /// What switches it on; an allocator that cannot be switched on helps nobody.
    switch: Option<String>,
    fits: Option<bool>,
}

impl Replay {
    /// What would have served every run.
    fn served_by(&self) -> Vec<String> {
        let serves = |run: &Run, name: &str| {
            run.rows.iter().any(|row| row.allocator == name && row.fits == Some(true))
        };
        let Some(first) = self.runs.first() else { return Vec::new() };
        let names = first.rows.iter().filter(|row| row.switch.is_some()).map(|row| &row.allocator);
        let all = names.filter(|name| self.runs.iter().all(|run| serves(run, name)));
        all.cloned().collect()
    }
}

impl Judge {
    pub(crate) fn new(whyoom: PathBuf) -> Self {
        Self { whyoom, who: None }
    }

    /// Why memory ran out.
    pub(crate) fn why(&self, matter: Matter) -> io::Result<Judged> {
        let is_text = matches!(matter, Matter::Text(_));
        let printed = match &matter {
            Matter::Text(text) => {
                self.run(&["why", "--json"], Input::Text(text.clone()), WHY_LIMIT)?
            }
            Matter::Path(path, source) => {
                self.run_on(path, *source, &["why", "--json"], WHY_LIMIT)?
            }
        };
        let document: Value = serde_json::from_str(&printed)?;
        let why = Why::deserialize(&document)?;
        if (why.schema.as_str(), why.version) != ("whyoom.why", 1) {
            return Err(io::Error::other(format!("{} {} is not known", why.schema, why.version)));
        }
        let replayed = match matter {
            Matter::Path(path, source) if !is_text => self.served_by(&path, source),
            _ => None,
        };
        Ok(Judged {
            verdict: why.verdict,
            request: why.incidents.into_iter().next(),
            document,
            has_history: replayed.is_some(),
            served_by: replayed,
        })
    }

    /// The settings that would have served the run. Nothing where there is no history, or it takes too long.
    fn served_by(&self, path: &std::path::Path, source: Source) -> Option<Vec<String>> {
        let printed = self.run_on(path, source, &["replay", "--json"], REPLAY_LIMIT).ok()?;
        let replay: Replay = serde_json::from_str(&printed).ok()?;
        Some(replay.served_by())
    }

    fn run_on(
        &self,
        path: &std::path::Path,
        source: Source,
        arguments: &[&str],
        limit: Duration,
    ) -> io::Result<String> {
        if source == Source::Recording {
            let path = path.to_str().ok_or_else(|| io::Error::other("a path that is no text"))?;
            return self.run(&[arguments, &["--", path]].concat(), Input::Nothing, limit);
        }
        // Opened here, so that nobody can put something else in its place.
        let input = Input::File(untrusted::open_entry(path)?);
        self.run(&[arguments, &["-"]].concat(), input, limit)
    }

    fn run(&self, arguments: &[&str], input: Input, limit: Duration) -> io::Result<String> {
        bounded::run(&self.whyoom, arguments, input, limit)
    }

    /// Who holds memory; nothing where there is no driver. Asked at most every two seconds.
    pub(crate) fn who(&mut self, now: Instant) -> Option<Value> {
        let is_fresh =
            |(asked, _): &&(Instant, Option<Value>)| now.duration_since(*asked) < WHO_LASTS;
        if let Some((_, said)) = self.who.as_ref().filter(is_fresh) {
            return said.clone();
        }
        let said = self.run(&["who", "--json"], Input::Nothing, WHO_LIMIT).ok();
        let said = said.and_then(|said| serde_json::from_str(&said).ok());
        self.who = Some((now, said.clone()));
        said
    }
}
