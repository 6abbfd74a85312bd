//! A panic of the recorder's own in each of its hooks.

use std::{
    fs,
    process::Command,
    sync::atomic::{AtomicUsize, Ordering::Relaxed},
    thread,
};

use anyhow::{Context, Result, anyhow, ensure};
use harness::{Build, Held, Ran, Trial, empty_folder, python, root, text};

use super::{by_name, families::driver_suite};

/// What the library exports beside functions of the driver: PyTorch's reports.
const REPORTS: &str = "_ZN3c10";

/// The hooks that the library had when this was written.
const FEWEST_HOOKS: usize = 118;

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

/// Each hook panics once, in a program that calls it.
pub(super) fn everywhere() -> Result<Held> {
    let recorded = hooks()?.into_iter().filter(|name| !UNRECORDED.contains(&name.as_str()));
    let (reports, mut functions): (Vec<_>, Vec<_>) =
        recorded.partition(|name| name.starts_with(REPORTS));
    let (count, mut unreached) = (functions.len() + reports.len(), Vec::new());
    while let Some(family) = functions.first().map(|name| family_of(name)) {
        let (of_family, others): (Vec<_>, Vec<_>) =
            functions.into_iter().partition(|name| family_of(name) == family);
        unreached.extend(at_each(&driver_suite(Some(family))?, &of_family)?);
        functions = others;
    }
    let unheard = at_each(&failing_torch()?, &reports)?;
    ensure!(unheard.is_empty(), "PyTorch never called {unheard:?}");
    println!("called by name, since no program here does: {}", unreached.join(", "));
    by_name::panic_at_each(&unreached)?;
    Ok(Held::new(format!("{count} hooks panicked")).count("panics", count as u64))
}

fn family_of(function: &str) -> &'static str {
    let family = FAMILIES.iter().find(|(word, _)| function.contains(word));
    family.map_or("memory", |(_, family)| family)
}

/// Tries the names on one program; those that it does not call.
fn at_each(trial: &Trial, names: &[String]) -> Result<Vec<String>> {
    let plain = trial.plain()?;
    plain.succeeded()?;
    let next = AtomicUsize::new(0);
    let work = || -> Result<Vec<String>> {
        let mut unreached = Vec::new();
        while let Some(name) = names.get(next.fetch_add(1, Relaxed)) {
            let reached = at(trial, &plain, name);
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
fn at(trial: &Trial, plain: &Ran, name: &str) -> Result<bool> {
    let folder = empty_folder(&format!("recorder/panic-{name}"))?;
    let trial = trial.clone().with("WHYOOM_RECORDER_FAULT", name);
    let ran = trial.preloaded(&folder)?;
    let lines = ran.like(plain)?;
    // Each process of the program says it for itself; two families start others.
    let mut said: Vec<_> = ran.stderr.lines().filter(|line| line.starts_with("whyoom: ")).collect();
    ensure!(lines <= said.len() && lines <= MOST_PROCESSES, "{lines} lines:\n{}", ran.stderr);
    said.dedup();
    ensure!(said.len() <= 1, "different lines:\n{}", ran.stderr);
    fs::remove_dir_all(folder)?;
    Ok(lines > 0)
}

/// A program of PyTorch's in which an allocation fails.
fn failing_torch() -> Result<Trial> {
    let script = root().join("tests/scenarios/torch/oom.py");
    Ok(Trial::new("8GiB", &[python()?, text(&script)]))
}

/// What the library stands before, as the linker sees it.
fn hooks() -> Result<Vec<String>> {
    let library = Build::ready()?.recorder();
    let output = Command::new("nm").args(["-D", "--defined-only"]).arg(library).output()?;
    let symbols = String::from_utf8(output.stdout)?;
    let names = symbols.lines().filter_map(|line| line.rsplit(' ').next());
    let hooked = |name: &&str| name.starts_with("cu") || name.starts_with(REPORTS);
    let names: Vec<_> = names.filter(hooked).map(str::to_owned).collect();
    ensure!(names.len() >= FEWEST_HOOKS, "only {} hooks", names.len());
    Ok(names)
}
