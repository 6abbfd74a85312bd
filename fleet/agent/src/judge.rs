//! Asks `whyoom`: why memory ran out, who holds it, which settings would have stopped it.

use std::{
    io,
    path::PathBuf,
    time::{Duration, Instant},
};

use serde::{Deserialize, Deserializer};
use serde_json::Value;
use whyoom_incident::Source;

use crate::{
    bounded::{self, Input},
    drops::Dropped,
};

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

impl Judged {
    /// Whether there was nothing to judge: no failure, and no cause.
    pub(crate) fn says_nothing(&self) -> bool {
        self.request.is_none() && self.verdict.cause == "unknown"
    }
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
    #[serde(deserialize_with = "ordinal")]
    pub(crate) device: Option<i64>,
    pub(crate) call_sites: Vec<CallSite>,
    pub(crate) remedies: Vec<Remedy>,
}

/// The GPU's index. The host has none; it is told by a word.
fn ordinal<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<i64>, D::Error> {
    Ok(Value::deserialize(deserializer)?.as_i64())
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
    Left(Dropped),
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
    /// What would have served every run; nothing where it is not known how much memory there was.
    fn served_by(&self) -> Option<Vec<String>> {
        let is_known = |run: &Run| run.rows.iter().any(|row| row.fits.is_some());
        if self.runs.is_empty() || !self.runs.iter().all(is_known) {
            return None;
        }
        Some(self.serving())
    }

    fn serving(&self) -> Vec<String> {
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
    pub(crate) fn why(&self, matter: &Matter) -> io::Result<Judged> {
        let wish = ["why", "--json"];
        let printed = match matter {
            Matter::Text(text) => self.run(&wish, Input::Text(text.clone()), WHY_LIMIT)?,
            Matter::Left(dropped) => self.run_on(dropped, &wish, WHY_LIMIT)?,
        };
        let document: Value = serde_json::from_str(&printed)?;
        let why = Why::deserialize(&document)?;
        if (why.schema.as_str(), why.version) != ("whyoom.why", 1) {
            let unknown = format!("{} {} is not known", why.schema, why.version);
            return Err(io::Error::new(io::ErrorKind::InvalidData, unknown));
        }
        let served_by = match matter {
            Matter::Left(dropped) => self.served_by(dropped),
            Matter::Text(_) => None,
        };
        Ok(Judged {
            verdict: why.verdict,
            request: why.incidents.into_iter().next(),
            document,
            has_history: served_by.is_some(),
            served_by,
        })
    }

    /// The settings that would have served the run. Nothing where there is no history, or it takes too long.
    fn served_by(&self, dropped: &Dropped) -> Option<Vec<String>> {
        let printed = self.run_on(dropped, &["replay", "--json"], REPLAY_LIMIT).ok()?;
        let replay: Replay = serde_json::from_str(&printed).ok()?;
        replay.served_by()
    }

    /// It is opened here, so that nobody can put something else in its place.
    fn run_on(&self, dropped: &Dropped, arguments: &[&str], limit: Duration) -> io::Result<String> {
        let (opened, name) = match dropped.source {
            Source::Recording => (dropped.open_folder()?, "/proc/self/fd/0"),
            _ => (dropped.open()?, "-"),
        };
        self.run(&[arguments, &["--", name]].concat(), Input::File(opened), limit)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn garbage_is_no_incident_and_a_request_that_nobody_understands_is() {
        let judged = |cause: &str, request: Option<i64>| {
            let verdict = serde_json::json!({"cause": cause, "strength": "fallback", "headline": "",
                "device": null, "call_sites": [], "remedies": []});
            let request = request.map(|bytes| serde_json::json!({"requested_bytes": bytes}));
            Judged {
                verdict: serde_json::from_value(verdict).unwrap(),
                request: request.map(|request| serde_json::from_value(request).unwrap()),
                document: Value::Null,
                has_history: false,
                served_by: None,
            }
        };
        assert!(judged("unknown", None).says_nothing());
        assert!(!judged("unknown", Some(7)).says_nothing());
        assert!(!judged("growth", None).says_nothing(), "a snapshot without its failure");
    }
}
