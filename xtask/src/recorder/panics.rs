//! A panic of the recorder's own in each of its hooks.

use std::{
    fs,
    path::Path,
    process::Command,
    sync::atomic::{AtomicUsize, Ordering::Relaxed},
    thread,
};

use anyhow::{Context, Result, anyhow, ensure};

use super::{
    by_name,
    stage::{Stage, fresh, python},
    trial::{Ran, Trial, text},
};
use crate::tools::{environment, root};

/// What the library exports beside functions of the driver: PyTorch's reports.
const REPORTS: &str = "_ZN3c10";

/// Programs run at a time: most of what they do is to wait.
const AT_A_TIME: usize = 4;

/// No family of the suite starts more.
const MOST_PROCESSES: usize = 3;

/// Parts of names, and the family of the suite that calls such functions. The first that fits counts.
const FAMILIES: &[(&str, &str)] = &[
    ("Ipc", "ipc"),
    ("Graph", "graphs"),
    ("Capture", "graphs"),
    ("Pool", "pools"),
    ("Async", "pools"),
    ("Host", "host_memory"),
    ("Launch", "execution"),
    ("Module", "execution"),
    ("Library", "execution"),
    ("Event", "execution"),
    ("Stream", "execution"),
    ("Ctx", "contexts"),
    ("Address", "virtual_memory"),
    ("MemCreate", "virtual_memory"),
    ("Map", "virtual_memory"),
    ("Unmap", "virtual_memory"),
    ("Handle", "virtual_memory"),
    ("MemRelease", "virtual_memory"),
    ("", "memory"),
];

/// Hooks that record nothing: they tell the pool what it must know, where there is one.
const UNRECORDED: [&str; 2] = ["cuMemGetInfo_v2", "cuStreamDestroy_v2"];

/// Each hook panics once, in a program that calls it; how many did.
pub(super) fn everywhere(stage: &Stage) -> Result<usize> {
    let hooks = hooks(&stage.recorder())?.into_iter();
    let recorded = hooks.filter(|name| !UNRECORDED.contains(&name.as_str()));
    let (reports, mut functions): (Vec<_>, Vec<_>) =
        recorded.partition(|name| name.starts_with(REPORTS));
    let (count, mut unreached) = (functions.len() + reports.len(), Vec::new());
    while let Some(family) = functions.first().map(|name| family_of(name)) {
        let (of_family, others): (Vec<_>, Vec<_>) =
            functions.into_iter().partition(|name| family_of(name) == family);
        unreached.extend(at_each(stage, &driver_suite(family)?, &of_family)?);
        functions = others;
    }
    let unheard = at_each(stage, &failing_torch()?, &reports)?;
    ensure!(unheard.is_empty(), "PyTorch never called {unheard:?}");
    println!("called by name, since no program here does: {}", unreached.join(", "));
    by_name::panic_at_each(stage, &unreached)?;
    Ok(count)
}

fn family_of(function: &str) -> &'static str {
    let family = FAMILIES.iter().find(|(word, _)| function.contains(word));
    family.map_or("memory", |(_, family)| family)
}

/// Tries the names on one program; those that it does not call.
fn at_each(stage: &Stage, trial: &Trial, names: &[String]) -> Result<Vec<String>> {
    let plain = trial.plain(stage)?;
    let next = AtomicUsize::new(0);
    let work = || -> Result<Vec<String>> {
        let mut unreached = Vec::new();
        while let Some(name) = names.get(next.fetch_add(1, Relaxed)) {
            let reached = at(stage, trial, &plain, name);
            if !reached.with_context(|| format!("a panic in {name}"))? {
                unreached.push(name.clone());
            }
        }
        Ok(unreached)
    };
    thread::scope(|scope| {
        let workers: Vec<_> = (0..AT_A_TIME).map(|_| scope.spawn(work)).collect();
        let mut unreached = Vec::new();
        for worker in workers {
            unreached.extend(worker.join().map_err(|_| anyhow!("a thread of ours panicked"))??);
        }
        Ok(unreached)
    })
}

/// The program does not notice; whether the recorder's hook was called and said so.
fn at(stage: &Stage, trial: &Trial, plain: &Ran, name: &str) -> Result<bool> {
    let folder = fresh(&format!("panic-{name}"))?;
    fs::create_dir_all(&folder)?;
    let trial = trial.clone().with("WHYOOM_RECORDER_FAULT", name);
    let ran = trial.preloaded(stage, &folder)?;
    let lines = ran.like(plain)?;
    // Each process of the program says it for itself; two families start others.
    let mut said: Vec<_> = ran.stderr.lines().filter(|line| line.starts_with("whyoom: ")).collect();
    ensure!(lines <= said.len() && lines <= MOST_PROCESSES, "{lines} lines:\n{}", ran.stderr);
    said.dedup();
    ensure!(said.len() <= 1, "different lines:\n{}", ran.stderr);
    fs::remove_dir_all(folder)?;
    Ok(lines > 0)
}

/// A program that calls the driver's functions of a family.
fn driver_suite(family: &str) -> Result<Trial> {
    let python = environment("clients")?.join("bin/python");
    let suite = root().join("tests/scenarios/clients/driver_api.py");
    let mut trial = Trial::new("8GiB", &[text(&python), text(&suite), family.to_owned()]);
    trial.lab.extend(["--gpus".to_owned(), "2".to_owned()]);
    Ok(trial)
}

/// A program of PyTorch's in which an allocation fails.
fn failing_torch() -> Result<Trial> {
    let script = root().join("tests/scenarios/torch/oom.py");
    Ok(Trial::new("8GiB", &[python()?, text(&script)]))
}

/// What the library stands before, as the linker sees it.
fn hooks(library: &Path) -> Result<Vec<String>> {
    let output = Command::new("nm").args(["-D", "--defined-only"]).arg(library).output()?;
    let symbols = String::from_utf8(output.stdout)?;
    let names = symbols.lines().filter_map(|line| line.rsplit(' ').next());
    let hooked = |name: &&str| name.starts_with("cu") || name.starts_with(REPORTS);
    let names: Vec<_> = names.filter(hooked).map(str::to_owned).collect();
    ensure!(!names.is_empty(), "{} exports no function of the driver", library.display());
    Ok(names)
}
