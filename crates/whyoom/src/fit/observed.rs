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
use whyoom_fit::{Continued, continued};
use whyoom_lab_core::{
    identity::uuid_text,
    machine::{MAX_DEVICES, Machine, Observations},
    models::GpuModel,
};
use whyoom_memory::{Model, Space};
use whyoom_sources::torch_snapshot;
use whyoom_trace::{DeviceId, Event, EventSink, Tables};

use super::ending::Ending;
use crate::{obstacle::Obstacle, terminal::say, visible};

/// The exit code where the program failed.
pub(crate) const PROGRAM_FAILED: u8 = 4;
/// So many of the program's last lines are shown where it fails.
const LAST_LINES: usize = 20;
/// They are looked for in so many of its last bytes.
const LAST_BYTES: u64 = 64 << 10;
/// What a server says is looked for in no more.
const LONGEST_OUTPUT: u64 = 64 << 20;
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
    /// The generation that was under way, or the last.
    pub(crate) generation: Option<Generation>,
    /// Whether there was an optimizer that had not stepped when time was up.
    awaits_optimizer: bool,
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
    /// Enough tokens of a generation were there to compute the rest.
    Generation,
    /// It had taken long enough.
    TimeLimit,
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

/// The tokens of one call of generate().
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Generation {
    /// Tokens that each sequence had before.
    pub(crate) prompt: u64,
    /// Tokens that each has now.
    pub(crate) length: u64,
    /// Tokens that each will have.
    pub(crate) end: u64,
    pub(crate) sequences: u64,
    /// For each token, how many allocations each device had seen by then.
    allocations: Vec<Vec<u64>>,
}

impl Generation {
    /// Tokens that are still to come.
    pub(crate) fn left(&self) -> u64 {
        self.end.saturating_sub(self.length)
    }

    /// New tokens that were run, and those that were asked for.
    pub(crate) fn new_tokens(&self) -> (u64, u64) {
        (self.length.saturating_sub(self.prompt), self.end.saturating_sub(self.prompt))
    }

    /// The whole generation on a device; nothing where it cannot be told from what was seen.
    fn continued(&self, run: &Run, device: usize) -> Option<Continued> {
        let after = self.allocations.iter().map(|devices| devices.get(device).copied());
        continued(run, &after.collect::<Option<Vec<_>>>()?, self.left())
    }
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
    /// What it did, and where it was ended in a generation, what it would have done until that ends.
    pub(crate) run: Run,
    /// The generation that was continued.
    pub(crate) continued: Option<ContinuedGeneration>,
    /// Whether it was ended in a generation that cannot be continued.
    pub(crate) unfinished: bool,
    /// What was taken outside its allocator, by whomever.
    pub(crate) outside: u64,
    /// Whether the recording is shorter than the run.
    pub(crate) cut_short: bool,
}

impl Seen {
    /// With the run to the end of a generation.
    fn with(mut self, mut continued: Option<ContinuedGeneration>) -> Self {
        if let Some(continued) = &mut continued {
            self.run = std::mem::take(&mut continued.tokens.run);
        }
        Self { continued, ..self }
    }
}

/// The tokens of a generation whose rest was computed.
#[derive(Debug)]
pub(crate) struct ContinuedGeneration {
    pub(crate) generation: Generation,
    /// How many new tokens were there, and how many allocations; the run is beside it.
    pub(crate) tokens: Continued,
}

/// The program ended before its steps repeated: nothing is known.
#[derive(Debug, thiserror::Error)]
#[error("{program} {how} before its memory use was known")]
pub(crate) struct ProgramFailed {
    program: String,
    how: String,
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

    /// How it ended, with its last words.
    pub(crate) fn why(&self) -> String {
        match last_words(&self.output) {
            Some(words) => format!("{}: {words}", self.how),
            None => self.how.clone(),
        }
    }
}

/// The line that says what went wrong: that of the last exception, else the last one.
fn last_words(output: &str) -> Option<&str> {
    let is_exception = |line: &&str| {
        let name = line.split(':').next().unwrap_or_default();
        let simple = name.rsplit('.').next().unwrap_or_default();
        (simple.ends_with("Error") || simple.ends_with("Exception"))
            && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '.' || c == '_')
    };
    let mut lines = output.lines().map(str::trim_end).filter(|line| !line.trim().is_empty());
    let last = lines.clone().next_back();
    lines.rfind(is_exception).or(last)
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
    /// How the program ended, where it did by itself.
    pub(crate) status: Option<ExitStatus>,
    /// Whether it was ended because it took long.
    pub(crate) timed_out: bool,
    /// What a server said of its own memory.
    pub(crate) server: Vec<String>,
    /// Processes that used a GPU and left no record.
    pub(crate) lost_processes: usize,
}

impl Observed {
    pub(crate) fn read(
        folder: &Path,
        program: &str,
        ran_on: &'static GpuModel,
        (machine, status, ending): (Machine, ExitStatus, Ending),
        memory: Model,
    ) -> Result<Self> {
        let facts = read_facts(folder)?;
        let observations = machine.observations();
        let used = observations.peak_used.iter().any(|used| *used > 0);
        if let Some(how) = failure(status, ending, &facts, (folder, used))? {
            let output = last_lines(&folder.join("output"));
            return Err(ProgramFailed { program: program.to_owned(), how, output }.into());
        }
        ensure!(used, "{program} did not use a GPU{}", why_no_gpu(program));
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
        let ran_late = facts.iter().any(|facts| facts.ended == Ended::TimeLimit);
        let runs = gathered.workloads.into_runs().into_iter();
        Ok(Self {
            ran_on,
            seen: runs.filter_map(|run| seen(run, &facts, &observations)).collect(),
            lost_processes: count(folder, "started")?.saturating_sub(facts.len()),
            facts,
            memory: gathered.memory,
            tables,
            observations,
            status: (ending == Ending::ByItself).then_some(status),
            timed_out: matches!(ending, Ending::TimeLimit(_)) || ran_late,
            server: server_lines(&folder.join("output")),
        })
    }

    /// Whether a process was ended in a generation that cannot be continued from what was seen.
    pub(crate) fn is_unfinished(&self) -> bool {
        self.seen.iter().any(|seen| seen.unfinished)
    }

    /// The run of the process whose allocator held most.
    pub(crate) fn largest(&self) -> Option<&Seen> {
        let space = |seen: &&Seen| self.memory.space(seen.run.process, seen.device);
        self.seen.iter().max_by_key(|seen| space(seen).map(Space::peak_reserved))
    }
}

/// How a program failed, if it did.
fn failure(
    status: ExitStatus,
    ending: Ending,
    facts: &[Facts],
    (folder, used): (&Path, bool),
) -> Result<Option<String>> {
    // A signal at the very end, after all was told, is no failure of what was seen.
    let broke_off = status.code() != Some(0) && facts.is_empty();
    let failed = status.code().is_some_and(|code| code != 0);
    Ok(match ending {
        // What does not use PyTorch tells nothing; what it took until then is known. A process that does, and has not
        // told anything, may be the one that matters.
        Ending::TimeLimit(limit) if !used || count(folder, "started")? > facts.len() => {
            Some(format!("was ended after {} s (--time-limit)", limit.as_secs()))
        }
        Ending::TimeLimit(_) | Ending::AfterReports => None,
        Ending::ByItself if broke_off => Some(format!("itself failed ({status})")),
        Ending::ByItself if failed && facts.iter().any(|one| one.ended == Ended::End) => {
            Some(format!("itself failed ({status})"))
        }
        Ending::ByItself => None,
    })
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
    let stopped = matches!(own.ended, Ended::Generation | Ended::TimeLimit | Ended::Steps);
    let generation = own.generation.as_ref().filter(|_| stopped);
    let under_way = generation.filter(|generation| generation.left() > 0);
    let continued = under_way.and_then(|generation| {
        let tokens = generation.continued(&run, usize::from(device.device))?;
        Some(ContinuedGeneration { generation: generation.clone(), tokens })
    });
    let awaits_optimizer = own.awaits_optimizer;
    Some(
        Seen {
            rank: name(own),
            device: run.device,
            outside: observations.peak_used.get(device.place())?.saturating_sub(reserved),
            cut_short: !run.workload.starts_empty() || device.peak_reserved > reserved,
            unfinished: (under_way.is_some() && continued.is_none()) || awaits_optimizer,
            run,
            continued: None,
        }
        .with(continued),
    )
}

/// What inference servers say of their memory, in the words that people know from their logs.
const OF_SERVERS: &[&str] =
    &["GPU KV cache size:", "Maximum concurrency for", "max_total_num_tokens="];

/// The lines of a program's output in which a server says what it decided.
fn server_lines(path: &Path) -> Vec<String> {
    let bytes = untrusted::read_entry(path, LONGEST_OUTPUT).unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    let said = |words: &&str| {
        let line = text.lines().rev().find(|line| line.contains(words))?;
        line.find(words).map(|start| line[start..].trim_end().to_owned())
    };
    OF_SERVERS.iter().filter_map(said).collect()
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
