//! Runs that PyTorch recorded itself, on real GPUs and on the simulated one: what replays are held
//! against. `tests/scenarios/workloads` tells what those on the simulated one are.

use std::{collections::BTreeMap, fs, path::PathBuf};

use anyhow::{Context, Result, bail, ensure};
use harness::{
    Build, Trial, device_runs, files, from_slice, once, python, root, scratch, shared_data,
    snapshots, stamp_of, text, two_at_a_time,
};
use serde::Deserialize;
use whyoom_allocators::{Run, Workload};

/// The workloads of `tests/scenarios/workloads`.
pub(crate) const WORKLOADS: &[&str] = &[
    "fixed",
    "variable",
    "checkpointing",
    "adapters",
    "mixed_precision",
    "convolution",
    "streams",
    "empty_cache",
    "memory_pool",
    "out_of_memory",
    "copies",
];
const SETTINGS: &[&str] = &["native", "max_split", "roundup", "gc", "expandable"];
/// The device that their sizes are chosen for.
pub(crate) const DEVICE: &[&str] =
    &["--gpu", "rtx-4090", "--memory", "4GiB", "--kernel", "spin_kernel=busy:20ms"];

/// One run on the simulated GPU.
pub(super) struct Recording {
    pub(super) workload: &'static str,
    pub(super) setting: &'static str,
    folder: PathBuf,
}

/// What PyTorch said of itself while it ran.
#[derive(Deserialize)]
#[expect(dead_code, reason = "every key is named; record.py holds the others against its history")]
pub(super) struct Facts {
    workload: String,
    setting: String,
    conf: String,
    pub(super) memory_fraction: f64,
    pub(super) total_memory: u64,
    torch: String,
    events: u64,
    failures: u64,
    pub(super) samples: Vec<Sample>,
    calls: Vec<Call>,
    reserved_changes: Vec<(u64, u64)>,
}

/// At one moment.
#[derive(Deserialize)]
#[expect(dead_code, reason = "every key is named")]
pub(super) struct Sample {
    event_index: u64,
    pub(super) reserved: u64,
    allocated: u64,
    active: u64,
    retries: u64,
    pub(super) device_free: u64,
}

/// Of what gives memory back. Only some name a pool.
#[derive(Deserialize)]
#[expect(dead_code, reason = "every key is named")]
struct Call {
    call: String,
    #[serde(default)]
    pool: Option<(u64, u64)>,
    event_index: u64,
    end_index: u64,
}

/// All runs on the simulated GPU, each workload under each setting.
pub(super) fn all() -> Result<Vec<Recording>> {
    let folder = scratch("recordings")?;
    let recording = |workload, setting| Recording { workload, setting, folder: folder.clone() };
    let of_workload = |workload| SETTINGS.iter().map(move |setting| (workload, setting));
    let pairs = WORKLOADS.iter().flat_map(of_workload);
    let recordings: Vec<Recording> =
        pairs.map(|(workload, setting)| recording(workload, setting)).collect();
    once("recordings", &stamp()?, || {
        two_at_a_time(&recordings, Recording::make).into_iter().collect()
    })?;
    Ok(recordings)
}

/// What they are made of.
fn stamp() -> Result<String> {
    let scenarios = root().join("tests/scenarios");
    let mut made_of = files(&scenarios.join("workloads"))?;
    made_of.push(scenarios.join("torch/models.py"));
    made_of.push(root().join("tests/requirements/torch.txt"));
    made_of.push(Build::ready()?.file("libwhyoom_lab_cuda.so"));
    stamp_of(&made_of)
}

impl Recording {
    pub(super) fn name(&self) -> String {
        format!("{}-{}", self.workload, self.setting)
    }

    fn file(&self, kind: &str) -> PathBuf {
        self.folder.join(format!("{}.{kind}", self.name()))
    }

    fn make(&self) -> Result<()> {
        let script = text(&root().join("tests/scenarios/workloads/record.py"));
        let (workload, setting) = (self.workload.to_owned(), self.setting.to_owned());
        let out = text(&self.folder.join(self.name()));
        let trial = Trial::on(DEVICE, &[python()?, script, workload, setting, out]);
        trial.plain()?.succeeded().with_context(|| self.name())?;
        Ok(())
    }

    /// What the program did on its one device.
    pub(super) fn run(&self) -> Result<Run> {
        let mut runs = device_runs(&self.file("pickle"))?;
        ensure!(runs.len() == 1, "{}: {} runs in place of one", self.name(), runs.len());
        runs.pop().context("no run")
    }

    pub(super) fn facts(&self) -> Result<Facts> {
        let facts: Facts =
            from_slice(&fs::read(self.file("json"))?).with_context(|| self.name())?;
        let own = facts.workload == self.workload && facts.setting == self.setting;
        ensure!(own, "{}: the facts are of {}-{}", self.name(), facts.workload, facts.setting);
        Ok(facts)
    }
}

/// A recording of a state has no history, and its name says so.
const OF_A_STATE: &str = "-state";

/// The runs on real GPUs, one of each recording that has a history.
pub(super) fn real() -> Result<BTreeMap<String, Workload>> {
    let mut real = BTreeMap::new();
    for path in snapshots(&shared_data()?.join("torch-snapshots"))? {
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let (runs, wanted) = (device_runs(&path)?, usize::from(!name.ends_with(OF_A_STATE)));
        if runs.len() != wanted {
            bail!("{name}: {} runs in place of {wanted}", runs.len());
        }
        real.extend(runs.into_iter().map(|run| (name.clone(), run.workload)));
    }
    Ok(real)
}
