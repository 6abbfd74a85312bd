//! The CUDA C programs: built by the real compiler, each says whether it reached its state.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Result, bail, ensure};
use harness::{Check, Held, Trial, cuda_programs, from_str, root, text};
use serde::Deserialize;

const MEMORY: &str = "2GiB";

/// A program, and what it tells beside what all tell.
struct Program {
    name: &'static str,
    figures: &'static [&'static str],
}

const fn program(name: &'static str, figures: &'static [&'static str]) -> Program {
    Program { name, figures }
}

/// All that `tests/scenarios/cuda` has.
const PROGRAMS: &[Program] = &[
    program("program01", &["free_before_last", "free_at_end", "last_request"]),
    program(
        "program02",
        &["shared_memory_limit", "shared_memory_asked", "free_at_end", "allocation", "last_error"],
    ),
    program(
        "program03",
        &[
            "request",
            "pool_used",
            "pool_reserved",
            "pool_reserved_after",
            "free_before_request",
            "cudaMalloc",
        ],
    ),
    program(
        "program07",
        &["heap_limit", "heap_asked", "free_before_launch", "launch", "synchronize", "afterwards"],
    ),
    program("program08", &["pinned_live", "free_at_end"]),
    program("program09", &["request", "capacity", "free_at_end", "cudaMalloc"]),
    program("program10", &["batches", "lost", "free_at_end", "ended"]),
    program(
        "program11",
        &[
            "holder",
            "held",
            "request",
            "free_with_holder",
            "free_without_holder",
            "cudaDeviceReset",
            "cudaMalloc",
        ],
    ),
    program("program12", &["calls", "lost_in_library", "free_at_end"]),
    program("program16", &["request", "free_before_request", "graph_memory", "cudaMalloc"]),
];

/// The kernel that the lab is told to let exhaust the device heap, since it computes nothing.
const EFFECTS: &[(&str, &str)] = &[("program07", "allocate_in_kernel=heap-exhausted")];

/// The line that a program ends with (`truth.h`).
#[derive(Debug, Deserialize)]
struct Truth {
    program: u32,
    cause: String,
    free_at_start: u64,
    #[serde(flatten)]
    figures: BTreeMap<String, Figure>,
    failed: Vec<String>,
    holds: bool,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
#[expect(dead_code, reason = "the program itself judges what it tells")]
enum Figure {
    Number(u64),
    Text(String),
}

impl Truth {
    /// It is this program's, and it holds.
    fn judged(self, program: &Program) -> Result<Self> {
        ensure!(self.holds && self.failed.is_empty(), "{self:?}");
        let number = format!("program{:02}", self.program);
        ensure!(number == program.name && !self.cause.is_empty(), "{self:?}");
        let told: BTreeSet<&str> = self.figures.keys().map(String::as_str).collect();
        ensure!(told == program.figures.iter().copied().collect(), "it tells {told:?}");
        Ok(self)
    }
}

pub(super) fn checks() -> Vec<Check> {
    let check = |program: &'static Program| {
        Check::new(format!("programs::{}", program.name), move || run(program))
    };
    let others =
        [Check::new("programs::listed", listed), Check::new("programs::given-back", given_back)];
    PROGRAMS.iter().map(check).chain(others).collect()
}

fn run(program: &Program) -> Result<Held> {
    let mut trial = Trial::new(MEMORY, &[cuda_programs()?.join(program.name)]);
    let effect = EFFECTS.iter().find(|(name, _)| *name == program.name);
    trial.lab.extend(effect.iter().flat_map(|(_, effect)| ["--kernel".into(), (*effect).into()]));
    let truth = trial.plain_shared()?.figures::<Truth>()?.judged(program)?;
    Ok(Held::new(truth.cause).count("programs", 1))
}

/// No program is forgotten.
fn listed() -> Result<Held> {
    let mut sources = BTreeSet::new();
    for entry in std::fs::read_dir(root().join("tests/scenarios/cuda"))? {
        let file = entry?.file_name().to_string_lossy().into_owned();
        let name = file.strip_suffix(".cu").filter(|name| name.starts_with("program"));
        sources.extend(name.map(str::to_owned));
    }
    let known: BTreeSet<_> = PROGRAMS.iter().map(|program| program.name.to_owned()).collect();
    ensure!(sources == known, "there are {sources:?}");
    Ok(Held::new(format!("{} programs, all of them checked", known.len())))
}

/// A program that leaks ends, and the next finds all memory free.
fn given_back() -> Result<Held> {
    let both = "\"$0\"/program10 && \"$0\"/program01";
    let ran = Trial::new(MEMORY, &["sh", "-c", both, &text(&cuda_programs()?)]).plain()?;
    let lines = ran.succeeded()?.stdout.lines().filter(|line| line.starts_with('{'));
    let truths = lines.map(from_str::<Truth>).collect::<Result<Vec<_>>>()?;
    let [leaks, next] = &truths[..] else { bail!("two programs tell {truths:?}") };
    ensure!((leaks.program, next.program) == (10, 1), "{truths:?}");
    let (before, after) = (leaks.free_at_start, next.free_at_start);
    ensure!(before == after, "{after} bytes are free in place of {before}");
    Ok(Held::new(format!("{after} bytes free before and after a program that leaks")))
}
