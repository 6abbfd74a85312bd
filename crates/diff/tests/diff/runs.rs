//! Made-up runs of a small model.

use std::collections::{BTreeMap, BTreeSet};

use whyoom_diff::{MemoryAt, OwnFrame, Profile, RankProfile, Row, SteadyAt};
use whyoom_memory::{Category, Phase};
use whyoom_trace::ModuleRole;

pub(crate) const MIB: u64 = 1 << 20;

/// Memory of a module, made at a line of a function.
pub(crate) fn row(
    module: &str,
    role: ModuleRole,
    (function, line): (&str, u32),
    bytes: u64,
) -> Row {
    let (category, phase) = match role {
        ModuleRole::Parameter | ModuleRole::Buffer => (Category::Parameters, Phase::Other),
        ModuleRole::Gradient => (Category::Gradients, Phase::Backward),
        ModuleRole::OptimizerState => (Category::OptimizerState, Phase::Optimizer),
        ModuleRole::Backward | ModuleRole::Recompute => (Category::Gradients, Phase::Backward),
        ModuleRole::Forward => (Category::Activations, Phase::Forward),
    };
    Row {
        before_loop: false,
        module: Some(module.to_owned()),
        role: Some(role),
        category,
        phase,
        site: format!("model.py:{line} {function}"),
        own: vec![
            OwnFrame { function: "main".to_owned(), file: "train.py".to_owned(), line: 40 },
            OwnFrame { function: function.to_owned(), file: "model.py".to_owned(), line },
        ],
        callee: None,
        maker: None,
        checkpoint: false,
        iterations: 1,
        bytes,
        requested: bytes,
        blocks: 1,
    }
}

/// The same where no module is known.
pub(crate) fn without_module(row: Row) -> Row {
    Row { module: None, role: None, ..row }
}

/// A model of so many layers, with so much of activations in each.
pub(crate) fn layers(count: usize, activations: u64) -> Vec<Row> {
    let mut rows = Vec::new();
    for layer in 0..count {
        let module = format!("GPT.layers.{layer}.mlp");
        for (role, site, bytes) in [
            (ModuleRole::Parameter, ("__init__", 10), 8 * MIB),
            (ModuleRole::Gradient, ("main", 41), 8 * MIB),
            (ModuleRole::OptimizerState, ("main", 42), 16 * MIB),
            (ModuleRole::Forward, ("forward", 20), activations),
            (ModuleRole::Forward, ("forward", 21), 4 * activations),
        ] {
            rows.push(row(&module, role, site, bytes));
        }
    }
    rows.push(row("GPT.head", ModuleRole::Parameter, ("__init__", 30), 4 * MIB));
    rows.push(row("GPT.head", ModuleRole::Forward, ("forward", 31), activations));
    rows
}

/// What rows add up to.
pub(crate) fn memory(rows: Vec<Row>) -> MemoryAt {
    let sum = |of: fn(&Row) -> u64| rows.iter().map(of).sum::<u64>();
    let (allocated, requested) = (sum(|row| row.bytes), sum(|row| row.requested));
    MemoryAt { allocated, requested, reserved: allocated, rows }
}

/// A run with these rows at its peak.
pub(crate) fn rank(rows: Vec<Row>) -> RankProfile {
    let peak = memory(rows);
    RankProfile {
        arguments: BTreeMap::new(),
        process: "train.py".to_owned(),
        rank: None,
        device: "GPU 0".to_owned(),
        peak_reserved: peak.allocated + 64 * MIB,
        peak,
        phases: BTreeMap::new(),
        steady: None,
        steady_at: SteadyAt::End,
        peak_phase: Phase::Forward,
        outside: None,
        iterations: 8,
        settings: BTreeMap::new(),
        versions: BTreeMap::new(),
        gpu: None,
        capacity: None,
        code: BTreeSet::new(),
        library_lines: BTreeMap::new(),
    }
}

/// A run of one rank.
pub(crate) fn run(rank: RankProfile) -> Profile {
    Profile { name: "run".to_owned(), ranks: vec![rank] }
}
