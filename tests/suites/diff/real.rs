//! Pairs of real snapshots compared, every amount equal to sums that Python makes of their traces.

use std::{collections::BTreeMap, path::Path, process::Command};

use anyhow::{Context, Result, bail, ensure};
use harness::{Build, Check, Held, from_slice, root, shared_data};
use serde::Deserialize;

/// Pairs, and what the first line must say of each.
const PAIRS: &[(&str, &str, &str)] = &[
    (
        "lm-small-forward_100",
        "lm-small-forward_200",
        "scale with the sequence length (factor 2.00)",
    ),
    (
        "lm-medium_128_training",
        "lm-medium_256_training",
        "scale with the sequence length (factor 2.00)",
    ),
    ("lm-small-forward_200", "lm-small-forward_200_mixed_precision", "autocast is only in B"),
    (
        "lm-small-forward_and_backward_200",
        "lm-small-forward_and_backward_200_mixed_precision",
        "autocast is only in B",
    ),
    ("lm-xl-forward_without_mixed", "lm-xl-forward", "autocast is only in B"),
    ("lm-medium_512_inference", "lm-medium_512_training", "backward pass is only in B"),
    ("lm-small-forward_200", "lm-small-forward_and_backward_200", "backward pass is only in B"),
    ("lm-steady-a", "lm-steady-a", "Nothing changed"),
];

/// What Python sums of one snapshot.
#[derive(Debug, Deserialize)]
struct Expected {
    requested: u64,
    sites: BTreeMap<String, u64>,
}

/// What is looked at of an answer.
#[derive(Deserialize)]
struct Answer {
    answer: String,
    ranks: Vec<Rank>,
}

#[derive(Deserialize)]
struct Rank {
    a: Figures,
    b: Figures,
    peak: View,
}

#[derive(Deserialize)]
struct Figures {
    peak_bytes: u64,
    requested_bytes: u64,
}

#[derive(Deserialize)]
struct View {
    changes: Vec<Change>,
}

#[derive(Deserialize)]
struct Change {
    site_a: Option<String>,
    site_b: Option<String>,
    a: Sums,
    b: Sums,
}

#[derive(Deserialize)]
struct Sums {
    bytes: u64,
    requested_bytes: u64,
}

pub(super) fn checks() -> Vec<Check> {
    vec![Check::new("real", run)]
}

fn run() -> Result<Held> {
    let build = Build::ready()?;
    let folder = shared_data()?.join("torch-snapshots");
    let mut sites = 0;
    for (a, b, says) in PAIRS {
        let path = |name: &str| folder.join(format!("{name}.pickle"));
        let (a, b) = (path(a), path(b));
        let answer = ask(build, &a, &b)?;
        println!("{}", answer.answer);
        ensure!(answer.answer.contains(says), "{}: not '{says}'", b.display());
        let [rank] = answer.ranks.as_slice() else { bail!("{}: several ranks", b.display()) };
        let changes = &rank.peak.changes;
        sites += check(&a, &rank.a, changes.iter().map(|one| (one.site_a.as_ref(), &one.a)))?;
        sites += check(&b, &rank.b, changes.iter().map(|one| (one.site_b.as_ref(), &one.b)))?;
    }
    Ok(Held::new(format!(
        "{} pairs of real snapshots explained, the peaks and {sites} call sites equal to Python's own sums",
        PAIRS.len()
    )))
}

fn ask(build: &Build, a: &Path, b: &Path) -> Result<Answer> {
    let output = Command::new(build.whyoom()).args(["diff", "--json"]).args([a, b]).output()?;
    ensure!(
        output.status.success(),
        "{}: {}",
        b.display(),
        String::from_utf8_lossy(&output.stderr)
    );
    // Only what is checked is read: the document is large, and its schema is checked elsewhere.
    serde_json::from_slice(&output.stdout).with_context(|| b.display().to_string())
}

fn sums_by_python(file: &Path) -> Result<Expected> {
    let script = root().join("tests/scenarios/diff/snapshot_peak.py");
    let output = Command::new("python3").arg(script).arg(file).output()?;
    let error = || String::from_utf8_lossy(&output.stderr).into_owned();
    ensure!(output.status.success(), "{}", error());
    from_slice(&output.stdout).with_context(error)
}

/// One run's side: all rows add up to its peak, and those of each call site to Python's sum. How many sites comes back.
fn check<'a>(
    file: &Path,
    figures: &Figures,
    rows: impl Iterator<Item = (Option<&'a String>, &'a Sums)> + Clone,
) -> Result<usize> {
    let name = file.display();
    let bytes: u64 = rows.clone().map(|(_, sums)| sums.bytes).sum();
    ensure!(bytes == figures.peak_bytes, "{name}: rows {bytes}, peak {}", figures.peak_bytes);
    let expected = sums_by_python(file)?;
    let (own, sum) = (figures.requested_bytes, expected.requested);
    ensure!(own == sum, "{name}: {own} requested at the peak, Python: {sum}");
    let mut sites = BTreeMap::<&str, u64>::new();
    for (site, sums) in rows {
        if let Some(site) = site {
            *sites.entry(site).or_default() += sums.requested_bytes;
        }
    }
    for (site, sum) in &expected.sites {
        let own = sites.get(site.as_str()).copied().unwrap_or_default();
        ensure!(own == *sum, "{name}: {site}: {own}, Python: {sum}");
    }
    Ok(expected.sites.len())
}
