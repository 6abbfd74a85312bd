//! What is known of one run's memory, as plain data that can be saved.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use whyoom_memory::{Category, Phase};
use whyoom_trace::ModuleRole;

use crate::names;

/// One run: a recording, a snapshot, a result of `whyoom fit`, or several of one launch.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Profile {
    /// What a person calls it.
    pub name: String,
    /// Each process on each device.
    pub ranks: Vec<RankProfile>,
}

/// One process on one device.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RankProfile {
    /// Its process, as the source names it.
    pub process: String,
    /// Its rank, where the source tells one.
    pub rank: Option<u32>,
    /// The device.
    pub device: String,
    /// When most was allocated.
    pub peak: MemoryAt,
    /// When most was allocated in each phase, by its name; that of the peak is not among them.
    pub phases: BTreeMap<String, MemoryAt>,
    /// What stays from iteration to iteration.
    pub steady: Option<MemoryAt>,
    /// Of which moment that is.
    pub steady_at: SteadyAt,
    /// What the program was doing at the peak.
    #[serde(with = "names::phase")]
    pub peak_phase: Phase,
    /// The most that the allocator ever held.
    pub peak_reserved: u64,
    /// What was taken from the driver beside the allocator's segments, at most.
    pub outside: Option<u64>,
    /// Iterations that were seen.
    pub iterations: u64,
    /// Settings that were told: the allocator's, and variables of the environment.
    pub settings: BTreeMap<String, String>,
    /// Versions that were told, by library.
    pub versions: BTreeMap<String, String>,
    /// What the program was started with: options by name, others by their place.
    #[serde(default)]
    pub arguments: BTreeMap<String, String>,
    /// The GPU's model.
    pub gpu: Option<String>,
    /// What the GPU has in all.
    pub capacity: Option<u64>,
    /// Code that decides about memory wherever it runs, by the name that people have for it.
    pub code: BTreeSet<String>,
    /// Where functions of libraries lie: package, then file and function, then lines. Versions differ in these.
    pub library_lines: BTreeMap<String, BTreeMap<String, BTreeSet<u32>>>,
}

impl RankProfile {
    /// When most was allocated in a phase.
    #[must_use]
    pub fn peak_in(&self, phase: Phase) -> Option<&MemoryAt> {
        if phase == self.peak_phase { Some(&self.peak) } else { self.phases.get(phase.name()) }
    }
}

/// Of which moment the steady state is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SteadyAt {
    /// The start of the last iteration.
    Iteration,
    /// The end of what was seen: no iterations were.
    End,
}

/// What was live at one moment.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct MemoryAt {
    /// What the allocator had given to the program: the sum of all rows.
    pub allocated: u64,
    /// What the program had asked for.
    pub requested: u64,
    /// What the allocator held.
    pub reserved: u64,
    /// Whose it was.
    pub rows: Vec<Row>,
}

/// What was live of one call site, module and kind.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Row {
    /// The module, with the class of the outermost one before it.
    pub module: Option<String>,
    /// What it is to the module.
    #[serde(with = "names::role")]
    pub role: Option<ModuleRole>,
    /// What it probably is.
    #[serde(with = "names::category")]
    pub category: Category,
    /// What the program was doing.
    #[serde(with = "names::phase")]
    pub phase: Phase,
    /// The call site, for people.
    pub site: String,
    /// The program's own frames that lead to it, outermost first.
    pub own: Vec<OwnFrame>,
    /// The library's function that the program called: `torch.nn.functional.linear`.
    pub callee: Option<String>,
    /// The library's function that allocated, of Python code.
    pub maker: Option<String>,
    /// Whether gradient checkpointing is on the stack.
    pub checkpoint: bool,
    /// Whether all of it was made before the first iteration.
    #[serde(default)]
    pub before_loop: bool,
    /// In how many iterations what is live was made.
    pub iterations: u64,
    /// How much it is.
    pub bytes: u64,
    /// What of it was asked for.
    pub requested: u64,
    /// In how many blocks.
    pub blocks: u64,
}

/// A frame of the program's own code.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct OwnFrame {
    /// The function, without its class: snapshots do not tell it.
    pub function: String,
    /// The file's name, without folders.
    pub file: String,
    /// The line.
    pub line: u32,
}
