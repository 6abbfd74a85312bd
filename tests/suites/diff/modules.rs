//! Memory by module, against PyTorch's own MemTracker in the same run.

use std::{collections::BTreeMap, path::PathBuf, process::Command};

use anyhow::{Context, Result, ensure};
use harness::{
    Build, Check, Held, Trial, environment, from_slice, from_str, python, root, slug, text,
};
use serde::{Deserialize, de::DeserializeOwned};

/// Programs of the zoo that MemTracker can follow. With adapters it fails itself.
const MODELS: &[(&str, &[&str])] = &[
    ("gpt2.py", &["--batch", "2"]),
    ("resnet50.py", &["--batch", "8"]),
    ("lstm.py", &[]),
    ("unet.py", &["--batch", "2"]),
    ("vit.py", &["--batch", "4", "--amp"]),
];
const STEPS: &str = "3";
/// What is neither parameter, gradient nor optimizer state may differ by so much.
const BAR: f64 = 0.01;
const KINDS: [&str; 3] = ["parameters", "gradients", "optimizer state"];

/// What MemTracker and the tensors themselves say.
#[derive(Deserialize)]
struct Tracked {
    root: String,
    peak: BTreeMap<String, u64>,
    current: BTreeMap<String, u64>,
    modules: BTreeMap<String, BTreeMap<String, u64>>,
    peak_allocated: u64,
    peak_requested: u64,
}

/// The part of `whyoom why --json --live` that is compared.
#[derive(Deserialize)]
struct Said {
    live: Live,
}

/// The part of `whyoom diff --json` that tells what the peak is made of.
#[derive(Deserialize)]
struct Compared {
    ranks: Vec<Rank>,
}

#[derive(Deserialize)]
struct Rank {
    peak: Peak,
}

#[derive(Deserialize)]
struct Peak {
    a_bytes: u64,
    by_category: Vec<Group>,
}

#[derive(Deserialize)]
struct Group {
    name: String,
    a: Sums,
}

#[derive(Deserialize)]
struct Sums {
    bytes: u64,
}

#[derive(Deserialize)]
struct Live {
    moment: String,
    modules: Vec<Module>,
}

#[derive(Deserialize)]
struct Module {
    name: String,
    kinds: BTreeMap<String, Amount>,
}

#[derive(Deserialize)]
struct Amount {
    requested_bytes: u64,
}

pub(super) fn checks() -> Vec<Check> {
    let check = |&(file, arguments): &(&'static str, &'static [&str])| {
        let name = slug(file.trim_end_matches(".py"));
        Check::new(format!("modules::{name}"), move || compare(file, arguments))
    };
    let hooks = ["torch", "torch-2.6"]
        .map(|version| Check::new(format!("modules::hooks::{version}"), move || hooks(version)));
    MODELS.iter().map(check).chain(hooks).collect()
}

/// What the startup file tells, on the CPU.
fn hooks(version: &str) -> Result<Held> {
    let (root, python) = (root(), environment(version)?.join("bin/python"));
    let startup = root.join("crates/whyoom/src");
    let output = Command::new(python)
        .arg(root.join("tests/scenarios/modules/hooks.py"))
        .args([startup.join("startup.py"), startup.join("modules.py")])
        .output()?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Ok(Held::new(String::from_utf8(output.stdout)?.trim()))
}

fn compare(file: &str, arguments: &[&str]) -> Result<Held> {
    let scenarios = root().join("tests/scenarios");
    let mut command =
        vec![python()?, text(&scenarios.join("modules/tracked.py")), STEPS.to_owned()];
    command.push(text(&scenarios.join("fit").join(file)));
    command.extend(arguments.iter().map(|&argument| argument.to_owned()));
    let recorded = Trial::new("64GiB", &command)
        .recorded_with(&format!("diff/modules-{file}"), &["--modules"])?;
    let told = recorded.ran.stdout.lines().find(|line| line.starts_with('{'));
    let tracked: Tracked = from_str(told.with_context(|| recorded.ran.stderr.clone())?)?;
    let said: Said = ask(&["why", "--json", "--live"], &[&recorded.folder])?;
    ensure!(said.live.moment.contains("end"), "it tells of {}", said.live.moment);
    ensure!(!said.live.modules.is_empty(), "no module is told:\n{}", recorded.ran.stderr);
    let equal = kinds_are_equal(&tracked, &said.live)?;
    totals_are_equal(&tracked)?;
    // A run against itself tells what its peak is made of.
    let compared: Compared = ask(&["diff", "--json"], &[&recorded.folder; 2])?;
    let rest = rest_at_peak(&tracked, &compared.ranks.first().context("no rank")?.peak)?;
    Ok(Held::new(format!("{equal} sums equal to the byte, the rest at the peak {rest:+.2} %")))
}

fn ask<T: DeserializeOwned>(words: &[&str], folders: &[&PathBuf]) -> Result<T> {
    let output = Command::new(Build::ready()?.whyoom()).args(words).args(folders).output()?;
    // The documents have much more: the rest of the suites reads it.
    let document: serde_json::Value = from_slice(&output.stdout)?;
    Ok(serde_json::from_value(document)?)
}

/// Parameters, gradients and optimizer state of each module are what its tensors take.
fn kinds_are_equal(tracked: &Tracked, live: &Live) -> Result<usize> {
    let prefix = format!("{}.", tracked.root);
    let own = |name: &str| name.strip_prefix(&prefix).map_or(String::new(), str::to_owned);
    let known: BTreeMap<String, &Module> = live
        .modules
        .iter()
        .filter(|module| module.name == tracked.root || module.name.starts_with(&prefix))
        .map(|module| (own(&module.name), module))
        .collect();
    let mut equal = 0;
    for (name, sums) in &tracked.modules {
        for kind in KINDS {
            let module = known.get(name).with_context(|| format!("nothing is told of {name}"))?;
            let said = module.kinds.get(kind).map_or(0, |amount| amount.requested_bytes);
            let true_bytes = *sums.get(kind).with_context(|| format!("no {kind}"))?;
            ensure!(said == true_bytes, "{name}: {kind} are {true_bytes} B, told {said} B");
            equal += 1;
        }
    }
    Ok(equal)
}

/// MemTracker counts the same tensors, each rounded as the allocator does.
fn totals_are_equal(tracked: &Tracked) -> Result<()> {
    let ours: u64 = tracked.modules.values().filter_map(|sums| sums.get("rounded")).sum();
    let theirs = sum(&tracked.current, &["Parameter", "Buffer", "Gradient", "Optstate"])?;
    ensure!(ours == theirs, "the tensors take {ours} B, MemTracker tells {theirs} B");
    Ok(())
}

/// Everything else at the peak, in percent more than MemTracker has. It calls optimizer state what an optimizer makes on
/// the way, and does not know what the allocator adds to a request.
fn rest_at_peak(tracked: &Tracked, peak: &Peak) -> Result<f64> {
    let of = |kind: &&str| {
        let group = peak.by_category.iter().find(|group| group.name == **kind);
        group.map_or(0, |group| group.a.bytes)
    };
    // A copy of the model is parameters here; MemTracker knows only those of modules that are called.
    let most = |kind: &&str| {
        let theirs = match *kind {
            "parameters" => sum(&tracked.peak, &["Parameter", "Buffer"])?,
            "gradients" => sum(&tracked.peak, &["Gradient"])?,
            _ => sum(&tracked.current, &["Optstate"])?,
        };
        // Blocks cost a little more than their tensors.
        Ok(of(kind).min(theirs + theirs / 20))
    };
    let known: u64 = KINDS.iter().map(most).sum::<Result<u64>>()?;
    let peak = peak.a_bytes;
    ensure!(peak == tracked.peak_allocated, "PyTorch's peak is {}", tracked.peak_allocated);
    let state = sum(&tracked.current, &["Optstate"])?.min(sum(&tracked.peak, &["Optstate"])?);
    let theirs = sum(&tracked.peak, &["Total"])?
        - sum(&tracked.peak, &["Parameter", "Buffer", "Gradient"])?
        - state;
    let added = tracked.peak_allocated - tracked.peak_requested;
    let ours = peak.checked_sub(known).context("the kinds are more than the peak")?;
    let difference = ours as f64 / theirs as f64 - 1.0;
    let most = BAR + added as f64 / theirs as f64;
    ensure!(difference.abs() <= most, "{ours} B, MemTracker has {theirs} B (at most {most:.4})");
    Ok(difference * 100.0)
}

fn sum(kinds: &BTreeMap<String, u64>, names: &[&str]) -> Result<u64> {
    let one = |name: &&str| kinds.get(*name).copied().with_context(|| format!("no {name}"));
    names.iter().map(one).sum()
}
