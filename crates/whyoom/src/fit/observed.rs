//! What a run left behind.

use std::{
    fs,
    io::{self, BufReader, Read, Seek, SeekFrom},
    path::Path,
    process::ExitStatus,
};

use anyhow::{Context, Result, ensure};
use serde::Deserialize;
use whyoom_allocators::{Run, Workloads};
use whyoom_files::untrusted;
use whyoom_lab_core::{
    identity::uuid_text,
    machine::{MAX_DEVICES, Machine, Observations},
    models::GpuModel,
};
use whyoom_memory::{Model, Space};
use whyoom_sources::torch_snapshot;
use whyoom_trace::{DeviceId, Event, EventSink, Tables};

use crate::{obstacle::Obstacle, terminal::say, visible};

/// The exit code where the program failed.
pub(crate) const PROGRAM_FAILED: u8 = 4;
/// So many of the program's last lines are shown where it fails.
const LAST_LINES: usize = 20;
/// They are looked for in so many of its last bytes.
const LAST_BYTES: u64 = 64 << 10;
/// What the sitecustomize file writes of a process is not longer.
const LONGEST_FACTS: u64 = 16 << 20;

/// What the sitecustomize file wrote of a process.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Facts {
    pub(crate) pid: u32,
    pub(crate) rank: Option<String>,
    pub(crate) torch: String,
    /// Whether PyTorch's allocations were recorded.
    pub(crate) recorded: bool,
    pub(crate) ended: Ended,
    pub(crate) steps: u64,
    pub(crate) steps_of: StepsOf,
    pub(crate) last_rise: u64,
    pub(crate) growth_per_step: u64,
    pub(crate) devices: Vec<DeviceFacts>,
}

/// Why a process was ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Ended {
    /// Its steps repeated.
    Repeated,
    /// Its steps differed, but none had gone higher for long.
    Settled,
    /// It had done as many steps as it was asked to.
    Steps,
    /// It ended by itself.
    End,
}

/// What was counted as a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum StepsOf {
    /// Steps of an optimizer.
    Optimizer,
    /// Calls of an outermost module.
    Calls,
}

/// A device as one process saw it.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct DeviceFacts {
    device: u16,
    uuid: String,
    /// The most that the process's allocator held, as its own counters have it.
    peak_reserved: u64,
}

impl DeviceFacts {
    /// Which device of the machine it is: programs may be shown some of them only.
    fn place(&self) -> usize {
        let same = |index: &usize| uuid_text(*index).trim_start_matches("GPU-") == self.uuid;
        (0..MAX_DEVICES).find(same).unwrap_or(self.device.into())
    }
}

/// A process on one device.
#[derive(Debug)]
pub(crate) struct Seen {
    pub(crate) rank: String,
    pub(crate) device: DeviceId,
    pub(crate) run: Run,
    /// What was taken outside its allocator, by whomever.
    pub(crate) outside: u64,
    /// Whether the recording is shorter than the run.
    pub(crate) cut_short: bool,
}

/// The program failed by itself, and before its steps repeated: nothing is known.
#[derive(Debug, thiserror::Error)]
#[error("{program} itself failed ({status}) before its memory use was known")]
pub(crate) struct ProgramFailed {
    program: String,
    status: ExitStatus,
    /// Its last lines.
    output: String,
}

impl ProgramFailed {
    /// Tells people; the exit code.
    pub(crate) fn tell(&self) -> u8 {
        anstream::eprint!("{}", self.output);
        say(&format!("{self}; see its last lines above"));
        PROGRAM_FAILED
    }
}

/// What a run left behind.
pub(crate) struct Observed {
    /// The model that was simulated.
    pub(crate) ran_on: &'static GpuModel,
    /// Processes that used PyTorch, by rank.
    pub(crate) facts: Vec<Facts>,
    /// What they did on each device.
    pub(crate) seen: Vec<Seen>,
    /// Their memory over time.
    pub(crate) memory: Model,
    /// The names in it.
    pub(crate) tables: Tables,
    /// What the lab counted.
    pub(crate) observations: Observations,
    /// How the program ended.
    pub(crate) status: ExitStatus,
    /// Processes that used a GPU and left no record.
    pub(crate) lost_processes: usize,
}

impl Observed {
    pub(crate) fn read(
        folder: &Path,
        program: &str,
        ran_on: &'static GpuModel,
        (machine, status): (Machine, ExitStatus),
        memory: Model,
    ) -> Result<Self> {
        let facts = read_facts(folder)?;
        let observations = machine.observations();
        // A signal at the very end, after all was told, is no failure of what was seen.
        let broke_off = status.code() != Some(0) && facts.is_empty();
        let failed = status.code().is_some_and(|code| code != 0);
        if broke_off || (failed && facts.iter().any(|one| one.ended == Ended::End)) {
            let output = last_lines(&folder.join("output"));
            return Err(ProgramFailed { program: program.to_owned(), status, output }.into());
        }
        ensure!(
            observations.peak_used.iter().any(|used| *used > 0),
            "{program} did not use a GPU{}",
            why_no_gpu(program)
        );
        let mut gathered = Gathered { workloads: Workloads::default(), memory };
        let mut tables = Tables::default();
        for facts in &facts {
            let process = tables.process(name(facts));
            if facts.recorded {
                let path = folder.join(format!("{}.pickle", facts.pid));
                let reader = BufReader::new(untrusted::open_entry(&path)?);
                torch_snapshot::import(reader, process, &mut tables, &mut gathered)
                    .context("cannot read what PyTorch recorded")?;
            }
        }
        let runs = gathered.workloads.into_runs().into_iter();
        Ok(Self {
            ran_on,
            seen: runs.filter_map(|run| seen(run, &facts, &observations)).collect(),
            lost_processes: count(folder, "started")?.saturating_sub(facts.len()),
            facts,
            memory: gathered.memory,
            tables,
            observations,
            status,
        })
    }

    /// The run of the process whose allocator held most.
    pub(crate) fn largest(&self) -> Option<&Seen> {
        let space = |seen: &&Seen| self.memory.space(seen.run.process, seen.device);
        self.seen.iter().max_by_key(|seen| space(seen).map(Space::peak_reserved))
    }
}

/// What may have kept a program from the simulated GPU.
fn why_no_gpu(program: &str) -> String {
    let first = program.split(' ').next().unwrap_or_default();
    let obstacle = Obstacle::of(&[first.into()]).map(|obstacle| obstacle.why);
    match visible::hides_all().or(obstacle) {
        Some(why) => format!(": {why}"),
        None => {
            "; if it should have, check that its PyTorch is built with CUDA (python -c 'import \
                 torch; print(torch.version.cuda)')"
                .to_owned()
        }
    }
}

/// A process's own name among the ranks.
fn name(facts: &Facts) -> String {
    facts.rank.clone().unwrap_or_else(|| facts.pid.to_string())
}

fn read_facts(folder: &Path) -> Result<Vec<Facts>> {
    let mut all: Vec<Facts> = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "json") {
            let facts = serde_json::from_slice(&untrusted::read_entry(&path, LONGEST_FACTS)?);
            all.push(facts.context("the startup file and this program are incompatible")?);
        }
    }
    let number = |facts: &Facts| facts.rank.as_deref().and_then(|rank| rank.parse::<u32>().ok());
    all.sort_by_key(|facts| (number(facts), facts.pid));
    Ok(all)
}

/// A run with what is known beside it; nothing for what is not a device's, or was never used.
fn seen(run: Run, facts: &[Facts], observations: &Observations) -> Option<Seen> {
    let own = facts.get(run.process.0 as usize)?;
    if run.device == DeviceId::HOST || run.workload.allocations() == 0 {
        return None;
    }
    let device = own.devices.iter().find(|device| DeviceId(device.device) == run.device)?;
    let reserved = run.workload.peak_recorded();
    Some(Seen {
        rank: name(own),
        device: run.device,
        outside: observations.peak_used.get(device.place())?.saturating_sub(reserved),
        cut_short: !run.workload.starts_empty() || device.peak_reserved > reserved,
        run,
    })
}

/// How many files of a kind there are.
fn count(folder: &Path, kind: &str) -> Result<usize> {
    let named = |entry: &fs::DirEntry| entry.path().extension().is_some_and(|found| found == kind);
    Ok(fs::read_dir(folder)?.flatten().filter(named).count())
}

fn last_bytes(path: &Path) -> io::Result<Vec<u8>> {
    let mut file = untrusted::open_entry(path)?;
    let start = file.metadata()?.len().saturating_sub(LAST_BYTES);
    file.seek(SeekFrom::Start(start))?;
    let mut bytes = Vec::new();
    file.take(LAST_BYTES).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn last_lines(path: &Path) -> String {
    let bytes = last_bytes(path).unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    let lines: Vec<&str> = text.lines().collect();
    let last = &lines[lines.len().saturating_sub(LAST_LINES)..];
    last.iter().map(|line| format!("{line}\n")).collect()
}

/// Takes events for both: runs to replay, and memory over time.
struct Gathered {
    workloads: Workloads,
    memory: Model,
}

impl EventSink for Gathered {
    fn event(&mut self, event: &Event, tables: &Tables) {
        self.workloads.event(event, tables);
        self.memory.event(event, tables);
    }
}
