//! What the results come to. No share before each key has its result.

use std::{collections::BTreeSet, fmt::Write as _};

use anyhow::{Result, bail};
use serde::Serialize;
use whyoom_archive::Archive;

use super::{
    manifest::Manifest,
    shard::{self, Outcome},
};
use crate::report::figures::{Share, easiest_first, shares};

/// The answer.
#[derive(Debug, Serialize)]
pub(super) struct Sum {
    schema: &'static str,
    version: u32,
    /// All that the manifest lists, each content once.
    recordings: u64,
    /// Of these, the runs that ran out of memory.
    ran_out: u64,
    /// Of those, the ones with a history, which settings were tried on: shares are of these.
    with_history: u64,
    unreadable: u64,
    too_long: u64,
    causes: Vec<Share>,
    served_by: Vec<Share>,
}

pub(super) fn run(archive: &Archive, manifest: &Manifest, is_json: bool) -> Result<()> {
    let mut outcomes = Vec::new();
    for entry in &manifest.entries {
        outcomes.extend(shard::result(archive, &entry.key)?);
    }
    let (wanted, found) = (manifest.entries.len(), outcomes.len());
    if found < wanted {
        bail!("{} of {wanted} results are missing; run the shards again", wanted - found);
    }
    let sum = Sum::of(&outcomes);
    match is_json {
        true => println!("{}", serde_json::to_string_pretty(&sum)?),
        false => print!("{}", sum.text()),
    }
    Ok(())
}

impl Sum {
    fn of(outcomes: &[Outcome]) -> Self {
        let count = |wanted: &Outcome| outcomes.iter().filter(|one| *one == wanted).count() as u64;
        let ran_out = outcomes.iter().filter_map(|outcome| match outcome {
            Outcome::RanOut { cause, served_by } => Some((cause, served_by.as_ref())),
            _ => None,
        });
        let ran_out: Vec<_> = ran_out.collect();
        let histories: Vec<&Vec<String>> = ran_out.iter().filter_map(|one| one.1).collect();
        let names =
            histories.iter().flat_map(|names| names.iter().cloned().collect::<BTreeSet<String>>());
        Self {
            schema: "whyoom.fleet-replay",
            version: 1,
            recordings: outcomes.len() as u64,
            ran_out: ran_out.len() as u64,
            with_history: histories.len() as u64,
            unreadable: count(&Outcome::Unreadable),
            too_long: count(&Outcome::TooLong),
            causes: shares(ran_out.iter().map(|one| one.0.clone()), ran_out.len() as u64),
            served_by: easiest_first(shares(names, histories.len() as u64)),
        }
    }

    fn text(&self) -> String {
        let mut out = String::new();
        // Writing into a string does not fail.
        let _ = self.write(&mut out);
        out
    }

    fn write(&self, out: &mut String) -> std::fmt::Result {
        match self.served_by.first() {
            Some(best) => writeln!(
                out,
                "{} would have served {:.1} % ({}) of the {} runs that ran out and have a history",
                best.name,
                best.share * 100.0,
                best.incidents,
                self.with_history
            )?,
            None => writeln!(
                out,
                "no setting would have served any of the {} runs that ran out and have a history",
                self.with_history
            )?,
        }
        for other in self.served_by.iter().skip(1) {
            writeln!(out, "  {}: {:.1} % ({})", other.name, other.share * 100.0, other.incidents)?;
        }
        writeln!(
            out,
            "{} recordings, of which {} ran out of memory",
            self.recordings, self.ran_out
        )?;
        for cause in &self.causes {
            writeln!(out, "  {}: {} ({:.1} %)", cause.name, cause.incidents, cause.share * 100.0)?;
        }
        if self.unreadable + self.too_long > 0 {
            writeln!(
                out,
                "not counted: {} that could not be read, {} that took too long",
                self.unreadable, self.too_long
            )?;
        }
        writeln!(out, "\"Served\" is up to the request that failed; what a run would have needed")?;
        writeln!(out, "afterwards is not known.")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_of_the_runs_with_a_history() {
        let ran_out = |served_by: Option<&[&str]>| Outcome::RanOut {
            cause: "fragmentation".into(),
            served_by: served_by.map(|names| names.iter().map(|name| (*name).into()).collect()),
        };
        let outcomes = [
            Outcome::Healthy,
            Outcome::Unreadable,
            ran_out(None),
            ran_out(Some(&["pool", "expandable"])),
            ran_out(Some(&[])),
        ];
        let sum = Sum::of(&outcomes);
        assert_eq!((sum.recordings, sum.ran_out, sum.with_history), (5, 3, 2));
        assert_eq!(sum.served_by[0].name, "expandable");
        assert!((sum.served_by[0].share - 0.5).abs() < 1e-9);
        let text = sum.text();
        assert!(
            text.starts_with("expandable would have served 50.0 % (1) of the 2 runs"),
            "{text}"
        );
        assert!(text.contains("not counted: 1 that could not be read"), "{text}");
    }
}
