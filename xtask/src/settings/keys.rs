//! The table of options in `releases.rs` against the measurement in `facts.json`.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
};

use anyhow::{Context, Result};
use harness::root;
use serde::Deserialize;
use whyoom_allocators::policies::pytorch::{KNOWN_OPTIONS, Release, takes};

use super::counted::Counted;

/// The measurement of each wheel, by `probe.py`.
const FACTS: &str = "xtask/python/settings/facts.json";

/// The part of the facts that is used here.
#[derive(Deserialize)]
struct Facts {
    /// Each key with a plausible value.
    key: BTreeMap<String, Case>,
}

/// One start of PyTorch.
#[derive(Deserialize)]
struct Case {
    accepted: bool,
}

/// The part of the measurement that is compared.
pub(crate) struct Measured {
    /// The releases, the oldest first.
    pub(crate) releases: Vec<Release>,
    /// The keys that were tried.
    pub(crate) keys: BTreeSet<String>,
    /// The keys that each release took.
    taken: BTreeSet<(Release, String)>,
    /// The keys that each release was tried with.
    tried: BTreeSet<(Release, String)>,
}

/// Reads the measurement.
pub(crate) fn read_measured() -> Result<Measured> {
    let text = fs::read_to_string(root().join(FACTS)).context(FACTS)?;
    let facts: BTreeMap<String, Facts> = serde_json::from_str(&text).context(FACTS)?;
    let mut measured = Measured {
        releases: Vec::new(),
        keys: BTreeSet::new(),
        taken: BTreeSet::new(),
        tried: BTreeSet::new(),
    };
    for (version, facts) in facts {
        let release = Release::parse(&version).with_context(|| format!("{FACTS}: {version}"))?;
        measured.releases.push(release);
        // A name with a value is another case of the same key.
        for (key, case) in facts.key.into_iter().filter(|(key, _)| !key.contains(':')) {
            measured.keys.insert(key.clone());
            measured.tried.insert((release, key.clone()));
            if case.accepted {
                measured.taken.insert((release, key));
            }
        }
    }
    measured.releases.sort();
    Ok(measured)
}

/// Prints the table, and compares the code's with it.
pub(crate) fn compare(measured: &Measured) -> Counted {
    let mut counted = Counted { compared: 0, wrong: Vec::new() };
    print!("{:<38}", "key");
    for release in &measured.releases {
        print!(" {:>7}", release.to_string());
    }
    println!();
    for key in &measured.keys {
        print!("{key:<38}");
        for release in &measured.releases {
            let place = (*release, key.clone());
            let is_taken = measured.taken.contains(&place);
            let word = match (measured.tried.contains(&place), is_taken) {
                (false, _) => "?",
                (true, true) => "yes",
                (true, false) => "–",
            };
            print!(" {word:>7}");
            if word != "?" {
                counted.compared += 1;
                if takes(Some(*release), key).unwrap_or(false) != is_taken {
                    counted.wrong.push(format!("{key} in {release}: PyTorch says {word}"));
                }
            }
        }
        println!();
    }
    for option in KNOWN_OPTIONS.iter().filter(|option| !measured.keys.contains(option.key)) {
        counted.wrong.push(format!("{} was not measured", option.key));
    }
    counted
}
