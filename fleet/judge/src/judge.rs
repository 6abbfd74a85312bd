//! `whyoom` as others ask it.

use std::{
    fs::File,
    io::{self, Seek as _},
    path::PathBuf,
    time::{Duration, Instant},
};

use serde::{Deserialize, Deserializer};
use serde_json::Value;
use whyoom_bounded::Input;

use crate::asking;

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
pub struct Judge {
    whyoom: PathBuf,
    /// What a replay tries beside the allocators that it knows: arguments of `whyoom replay --set`.
    settings: Vec<String>,
    who: Option<(Instant, Option<Value>)>,
}

/// What it says of one failure.
#[derive(Debug)]
pub struct Judged {
    /// The verdict.
    pub verdict: Verdict,
    /// The first request that failed, where there was one.
    pub request: Option<Request>,
    /// All of it.
    pub document: Value,
}

impl Judged {
    /// Whether there was nothing to judge: no failure, and no cause.
    #[must_use]
    pub fn says_nothing(&self) -> bool {
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
pub struct Verdict {
    /// A name of `whyoom causes`.
    pub cause: String,
    /// How strongly the evidence speaks for it.
    pub strength: String,
    /// A sentence.
    pub headline: String,
    /// The GPU's index.
    #[serde(deserialize_with = "ordinal")]
    pub device: Option<i64>,
    /// Where memory was asked for, the most important first.
    pub call_sites: Vec<CallSite>,
    /// What helps, the best first.
    pub remedies: Vec<Remedy>,
}

/// The GPU's index. The host has none; it is told by a word.
fn ordinal<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<i64>, D::Error> {
    Ok(Value::deserialize(deserializer)?.as_i64())
}

/// A place in a program.
#[derive(Debug, Deserialize)]
pub struct CallSite {
    /// The file and the line.
    pub call_site: String,
}

/// What helps.
#[derive(Debug, Deserialize)]
pub struct Remedy {
    /// What is to be pasted, where something is.
    pub paste: Option<String>,
}

/// The request that failed.
#[derive(Debug, Deserialize)]
pub struct Request {
    /// What was asked for.
    pub requested_bytes: Option<i64>,
    /// What the GPU has.
    pub capacity_bytes: Option<i64>,
    /// What of it was free.
    pub free_bytes: Option<i64>,
    /// What the program used.
    pub allocated_bytes: Option<i64>,
    /// What its allocator had.
    pub reserved_bytes: Option<i64>,
}

/// What is judged. Files are open already, so that nobody can put something else in their place.
#[derive(Debug)]
pub enum Matter {
    /// A text from a log.
    Text(String),
    /// A snapshot of PyTorch.
    Snapshot(File),
    /// The folder of a recording.
    Recording(File),
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
    /// `whyoom` at a path. A replay tries these settings, too.
    #[must_use]
    pub fn new(whyoom: PathBuf, settings: Vec<String>) -> Self {
        Self { whyoom, settings, who: None }
    }

    /// Its version, as it says it.
    ///
    /// # Errors
    /// Where it cannot be run.
    pub fn version(&self) -> io::Result<String> {
        let said = asking::run(&self.whyoom, &["--version"], Input::Nothing, WHO_LIMIT)?;
        Ok(said.trim().to_owned())
    }

    /// Why memory ran out.
    ///
    /// # Errors
    /// `InvalidData` where there is no verdict on this, however often it is asked; anything else may pass.
    pub fn why(&self, matter: &Matter) -> io::Result<Judged> {
        let printed = self.run_on(matter, &["why", "--json"], WHY_LIMIT)?;
        let document: Value = serde_json::from_str(&printed)?;
        let why = Why::deserialize(&document)?;
        if (why.schema.as_str(), why.version) != ("whyoom.why", 1) {
            let unknown = format!("{} {} is not known", why.schema, why.version);
            return Err(io::Error::new(io::ErrorKind::InvalidData, unknown));
        }
        Ok(Judged { verdict: why.verdict, request: why.incidents.into_iter().next(), document })
    }

    /// What would have served the run: nothing where it has no history to replay.
    ///
    /// # Errors
    /// Where it takes too long, or `whyoom` cannot be run.
    pub fn served_by(&self, matter: &Matter) -> io::Result<Option<Vec<String>>> {
        if matches!(matter, Matter::Text(_)) {
            return Ok(None);
        }
        let set = self.settings.iter().flat_map(|setting| ["--set", setting]);
        let arguments: Vec<&str> = ["replay", "--json"].into_iter().chain(set).collect();
        match self.run_on(matter, &arguments, REPLAY_LIMIT) {
            Ok(printed) => Ok(serde_json::from_str::<Replay>(&printed)?.served_by()),
            Err(error) if error.kind() == io::ErrorKind::InvalidData => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn run_on(&self, matter: &Matter, arguments: &[&str], limit: Duration) -> io::Result<String> {
        let (input, name) = match matter {
            Matter::Text(text) => return self.run(arguments, Input::Text(text.clone()), limit),
            Matter::Snapshot(file) => {
                let mut file = file.try_clone()?;
                file.rewind()?;
                (file, "-")
            }
            Matter::Recording(folder) => (folder.try_clone()?, "/proc/self/fd/0"),
        };
        self.run(&[arguments, &["--", name]].concat(), Input::File(input), limit)
    }

    fn run(&self, arguments: &[&str], input: Input, limit: Duration) -> io::Result<String> {
        asking::run(&self.whyoom, arguments, input, limit)
    }

    /// Who holds memory; nothing where there is no driver. Asked at most every two seconds.
    pub fn who(&mut self, now: Instant) -> Option<Value> {
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
            }
        };
        assert!(judged("unknown", None).says_nothing());
        assert!(!judged("unknown", Some(7)).says_nothing());
        assert!(!judged("growth", None).says_nothing(), "a snapshot without its failure");
    }
}
