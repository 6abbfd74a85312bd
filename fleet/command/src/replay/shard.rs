//! A part of a manifest: one result a key, written once.

use std::{io, thread, time::Duration};

use anyhow::{Result, bail};
use serde::{Deserialize, Serialize};
use whyoom_archive::Archive;
use whyoom_judge::Judge;

use super::manifest::{Entry, Manifest};
use crate::cli::Shard;

const SCHEMA: &str = "whyoom.fleet-replay-result";
const VERSION: u32 = 1;
/// How often a replay is tried that was hindered by something else than what is replayed.
const ATTEMPTS: u32 = 3;
const RETRY: Duration = Duration::from_secs(2);

/// What came of one recording.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Outcome {
    /// Memory did not run out.
    Healthy,
    /// Memory ran out.
    RanOut {
        /// Why.
        cause: String,
        /// What would have served the request that failed; nothing where there is no history.
        served_by: Option<Vec<String>>,
    },
    /// `whyoom` cannot read it.
    Unreadable,
    /// It takes too long.
    TooLong,
}

#[derive(Debug, Serialize, Deserialize)]
struct Document {
    schema: String,
    version: u32,
    key: String,
    outcome: Outcome,
}

fn path_of(key: &str) -> String {
    format!("replays/results/{key}.json")
}

/// The result of a key, if there is one.
pub(super) fn result(archive: &Archive, key: &str) -> Result<Option<Outcome>> {
    let Some(bytes) = archive.document(&path_of(key))? else { return Ok(None) };
    // Half of a result, which a store may keep, is none: it is written again.
    let Ok(document) = serde_json::from_slice::<Document>(&bytes) else { return Ok(None) };
    let found = (document.schema.as_str(), document.version, document.key.as_str());
    if found != (SCHEMA, VERSION, key) {
        bail!("{} is not the result of {key}", path_of(key));
    }
    Ok(Some(document.outcome))
}

pub(super) fn run(
    archive: &Archive,
    manifest: &Manifest,
    shard: Shard,
    judge: &Judge,
) -> Result<()> {
    let own = manifest.entries.iter().skip(shard.index).step_by(shard.count);
    let (mut replayed, mut there, mut failed) = (0, 0, 0);
    for entry in own {
        if result(archive, &entry.key)?.is_some() {
            there += 1;
            continue;
        }
        match replay(entry, judge) {
            Ok(outcome) => {
                let (schema, version, key) = (SCHEMA.into(), VERSION, entry.key.clone());
                let document = Document { schema, version, key, outcome };
                archive.put_document(&path_of(&entry.key), &serde_json::to_vec(&document)?)?;
                replayed += 1;
            }
            // The others are replayed all the same; whoever runs this shard again tries this one again.
            Err(error) => {
                eprintln!("{}: {error}", entry.recording.path.display());
                failed += 1;
            }
        }
    }
    println!("shard {}/{}: {replayed} replayed, {there} there before", shard.index, shard.count);
    if failed > 0 {
        bail!("{failed} have no result; run this shard again");
    }
    Ok(())
}

/// What hinders `whyoom` may pass.
fn replay(entry: &Entry, judge: &Judge) -> io::Result<Outcome> {
    if entry.recording.digest()? != entry.digest {
        return Err(io::Error::other("it has changed since the manifest was made"));
    }
    let mut attempt = 1;
    loop {
        match ask(entry, judge) {
            Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                return Ok(Outcome::Unreadable);
            }
            Err(error) if error.kind() == io::ErrorKind::TimedOut => return Ok(Outcome::TooLong),
            Err(_) if attempt < ATTEMPTS => attempt += 1,
            asked => return asked,
        }
        thread::sleep(RETRY);
    }
}

fn ask(entry: &Entry, judge: &Judge) -> io::Result<Outcome> {
    let matter = entry.recording.matter()?;
    let judged = judge.why(&matter)?;
    if judged.says_nothing() {
        return Ok(Outcome::Unreadable);
    }
    let cause = judged.verdict.cause;
    if cause == "healthy" {
        return Ok(Outcome::Healthy);
    }
    let served_by = judge.served_by(&matter)?;
    Ok(Outcome::RanOut { cause, served_by })
}
