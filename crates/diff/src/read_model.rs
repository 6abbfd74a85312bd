//! A profile of what a model has.

use std::collections::{BTreeMap, BTreeSet};

use whyoom_memory::{Category, LiveBlock, Model, Phase, Space, call_site, is_library_file};
use whyoom_trace::{
    DeviceId, FrameText, ProcessId, StackId, Tables,
    facts::{Fact, FactKind, OWN},
};

use crate::{
    arguments::arguments,
    known_code::known_code,
    library_lines::{LibraryLines, package_of, tail_of},
    profile::{MemoryAt, OwnFrame, Profile, RankProfile, Row, SteadyAt},
};

/// The file of gradient checkpointing.
const CHECKPOINT: &str = "torch/utils/checkpoint.py";
/// Functions of libraries that only call another.
const PASSES_ON: [&str; 7] = [
    "wrapper",
    "_wrapped_call_impl",
    "_call_impl",
    "decorate_context",
    "_use_grad",
    "inner",
    "__torch_function__",
];
/// How the variables that tell a library's version begin.
const VERSION: &str = "whyoom_version_";

/// What a launch is called, and its ranks where files' names tell them.
#[derive(Debug, Clone, Copy)]
pub struct LaunchNames<'a> {
    /// The run.
    pub name: &'a str,
    /// The rank that a process's name tells.
    pub rank: fn(&str) -> Option<u32>,
}

/// The profile of everything that a model has on devices.
#[must_use]
pub fn profile_of(model: &Model, tables: &Tables, names: LaunchNames<'_>) -> Profile {
    let used = |space: &Space| space.peak().0.allocated.0 > 0 || space.peak_reserved().0 > 0;
    let spaces =
        model.spaces().filter(|(_, device, space)| *device != DeviceId::HOST && used(space));
    let (code, library_lines) = (known_code(model, tables), LibraryLines::of(tables).0);
    let ranks = spaces.map(|(process, device, space)| {
        let reader = Reader { model, tables, process, device, space };
        let (code, library_lines) = (code.clone(), library_lines.clone());
        RankProfile { code, library_lines, ..reader.rank(names.rank) }
    });
    Profile { name: names.name.to_owned(), ranks: ranks.collect() }
}

/// One process on one device, on its way into a profile.
struct Reader<'a> {
    model: &'a Model,
    tables: &'a Tables,
    process: ProcessId,
    device: DeviceId,
    space: &'a Space,
}

impl Reader<'_> {
    fn rank(&self, rank_of: fn(&str) -> Option<u32>) -> RankProfile {
        let process = self.tables.process_name(self.process).to_owned();
        let told = |name| self.model.own_setting(self.process, name)?.parse().ok();
        let (totals, _) = self.space.peak();
        let mut rows = |blocks: &mut dyn Iterator<Item = &LiveBlock>| self.rows(blocks);
        let peak = MemoryAt {
            allocated: totals.allocated.0,
            requested: totals.requested.0,
            reserved: totals.reserved.0,
            rows: rows(&mut self.space.layer().peak_blocks().map(|(_, block)| block)),
        };
        let (steady, steady_at) = self.steady(&mut rows);
        let maker = self.space.peak_maker().map_or(StackId(0), |block| block.stack);
        let peak_phase = self.model.phase(maker);
        let in_phase = |phase: &Phase| {
            let (totals, blocks) = self.space.layer().peak_in(*phase)?;
            let rows = rows(&mut blocks.map(|(_, block)| block));
            Some((phase.name().to_owned(), memory_at(totals, rows)))
        };
        let others = Phase::ALL.iter().filter(|phase| **phase != peak_phase);
        let phases = others.filter_map(in_phase).collect();
        let (settings, versions) = self.settings();
        let (gpu, capacity) = self.gpu();
        RankProfile {
            rank: told("RANK").or_else(|| rank_of(&process)),
            process,
            device: self.device.to_string(),
            peak,
            phases,
            steady,
            steady_at,
            peak_phase,
            peak_reserved: self.space.peak_reserved().0,
            outside: self.outside(),
            iterations: self.space.iterations(),
            settings,
            versions,
            arguments: self.arguments(),
            gpu,
            capacity,
            code: BTreeSet::new(),
            library_lines: BTreeMap::new(),
        }
    }

    fn steady(
        &self,
        rows: &mut dyn FnMut(&mut dyn Iterator<Item = &LiveBlock>) -> Vec<Row>,
    ) -> (Option<MemoryAt>, SteadyAt) {
        let layer = self.space.layer();
        if let Some((totals, blocks)) = layer.steady() {
            let rows = rows(&mut blocks.map(|(_, block)| block));
            return (Some(memory_at(totals, rows)), SteadyAt::Iteration);
        }
        // A process that ended has given back what it had: that is nobody's steady state.
        let exited = self.model.process(self.process).is_some_and(|one| one.exited().is_some());
        let at_end =
            || memory_at(layer.totals(), rows(&mut layer.blocks().map(|(_, block)| block)));
        ((!exited).then(at_end), SteadyAt::End)
    }

    fn outside(&self) -> Option<u64> {
        self.space.driver().filter(|_| self.space.has_allocator())?;
        Some(self.space.outside_by_stack().iter().map(|(_, usage)| usage.bytes.0).sum())
    }

    fn settings(&self) -> (BTreeMap<String, String>, BTreeMap<String, String>) {
        let (mut settings, mut versions) = (BTreeMap::new(), BTreeMap::new());
        for (name, value) in self.model.own_settings(self.process) {
            match name.strip_prefix(VERSION) {
                Some(library) => versions.insert(library.to_owned(), value.to_owned()),
                None if name.starts_with(OWN) || name == "RANK" => None,
                None => settings.insert(name.to_owned(), value.to_owned()),
            };
        }
        (settings, versions)
    }

    fn arguments(&self) -> BTreeMap<String, String> {
        match self.model.launch_fact(self.process, FactKind::Command) {
            Some(Fact::Command { words }) => {
                let words: Vec<&str> = self.tables.text(words).split('\0').collect();
                arguments(&words)
            }
            _ => BTreeMap::new(),
        }
    }

    fn gpu(&self) -> (Option<String>, Option<u64>) {
        match self.model.launch_fact(self.process, FactKind::Gpu) {
            Some(Fact::Gpu { model, total }) => {
                (Some(self.tables.text(model).to_owned()), Some(total.0))
            }
            _ => (None, None),
        }
    }

    /// Sums over blocks that the program has not given back.
    fn rows(&self, blocks: &mut dyn Iterator<Item = &LiveBlock>) -> Vec<Row> {
        let layer = self.space.layer();
        let starts = layer.iteration_starts();
        let mut sums = BTreeMap::<(StackId, StackId, Category), ([u64; 3], BTreeSet<usize>)>::new();
        for block in blocks.filter(|block| !block.pending) {
            let key = (block.stack, block.label, layer.category(block));
            let (sum, iterations) = sums.entry(key).or_default();
            sum[0] += block.size.0;
            sum[1] += block.requested.0;
            sum[2] += 1;
            iterations.insert(starts.partition_point(|start| *start <= block.born));
        }
        let row = |((stack, label, category), (sum, iterations)): (_, ([u64; 3], BTreeSet<_>))| {
            let [bytes, requested, blocks] = sum;
            let before_loop = !starts.is_empty() && iterations.iter().all(|one| *one == 0);
            let iterations = iterations.len() as u64;
            Row {
                before_loop,
                iterations,
                bytes,
                requested,
                blocks,
                ..self.row(stack, label, category)
            }
        };
        sums.into_iter().map(row).collect()
    }

    fn row(&self, stack: StackId, label: StackId, category: Category) -> Row {
        let module = self.tables.module(if label == StackId(0) { stack } else { label });
        let python = || self.tables.frames(stack).filter(FrameText::is_python);
        let is_own = |frame: &FrameText<'_>| !is_library_file(frame.file);
        let mut own: Vec<OwnFrame> = python().filter(is_own).map(own_frame).collect();
        own.reverse();
        // The last of a library's frames before the program's own innermost one.
        let passes_on = |frame: &FrameText<'_>| PASSES_ON.contains(&plain(frame.function));
        let callee =
            python().take_while(|frame| !is_own(frame)).filter(|frame| !passes_on(frame)).last();
        Row {
            module: module.map(|module| module.name.to_owned()),
            role: module.map(|module| module.role),
            category,
            phase: self.model.phase(stack),
            site: call_site(self.tables, stack),
            own,
            callee: callee.map(|frame| library_function(&frame)),
            maker: python()
                .next()
                .filter(|frame| !is_own(frame))
                .map(|frame| library_function(&frame)),
            checkpoint: python().any(|frame| frame.file.ends_with(CHECKPOINT)),
            before_loop: false,
            iterations: 0,
            bytes: 0,
            requested: 0,
            blocks: 0,
        }
    }
}

fn memory_at(totals: whyoom_memory::Totals, rows: Vec<Row>) -> MemoryAt {
    MemoryAt {
        allocated: totals.allocated.0,
        requested: totals.requested.0,
        reserved: totals.reserved.0,
        rows,
    }
}

fn own_frame(frame: FrameText<'_>) -> OwnFrame {
    OwnFrame {
        function: plain(frame.function).to_owned(),
        file: frame.file.rsplit('/').next().unwrap_or(frame.file).to_owned(),
        line: frame.line,
    }
}

/// A function's name without its class: recordings name `Block.forward`, snapshots `forward`.
fn plain(function: &str) -> &str {
    function.rsplit('.').next().unwrap_or(function)
}

/// `torch.optim.adamw._init_group`.
fn library_function(frame: &FrameText<'_>) -> String {
    let package = package_of(frame.file).unwrap_or_default();
    let tail = tail_of(frame.file).trim_end_matches(".py").replace('/', ".");
    match package.is_empty() || tail.starts_with(package) {
        true => format!("{tail}.{}", plain(frame.function)),
        false => format!("{package}.{tail}.{}", plain(frame.function)),
    }
}
