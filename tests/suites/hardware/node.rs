//! NVML that answers late, in part or not at all.

use anyhow::{Context, Result, ensure};
use harness::{Build, Held, Trial, documents::Who, text};

use super::{Row, script};

pub(super) const ROWS: &[Row] = &[
    ("nvml::without-use", without_use),
    ("nvml::lost-gpu", lost_gpu),
    ("nvml::unified-memory", unified_memory),
    ("nvml::slow", slow),
    ("order::fastest-first", fastest_first),
];

/// Where NVML lists a process with 0 bytes, nobody unseen is blamed for what it holds.
fn without_use() -> Result<Held> {
    let lab = ["--memory", "4GiB", "--fault", "nvml-without-use"];
    let recorded = script("fills.py", &lab)?.recorded("hardware/without-use")?;
    let verdict = recorded.verdict()?.verdict;
    ensure!(verdict.cause == "working-set", "{}: {}", verdict.cause, verdict.headline);
    let who = who(&lab)?;
    ensure!(who.devices.iter().all(|device| device.suspicions.is_empty()), "{who:#?}");
    Ok(Held::new("the program's own memory is its own: working-set, not unseen-holder"))
}

/// `whyoom who` on a lab.
fn who(lab: &[&str]) -> Result<Who> {
    let whyoom = text(&Build::ready()?.whyoom());
    let ran = Trial::on(lab, &[whyoom.as_str(), "who", "--json"]).plain()?;
    Who::parse(ran.succeeded()?.stdout.as_bytes())
}

/// One GPU of four has fallen off the bus: the others are shown, and this one is named.
fn lost_gpu() -> Result<Held> {
    let who = who(&["--gpus", "4", "--fault", "lost-gpu=2"])?;
    let shown: Vec<u32> = who.devices.iter().map(|device| device.index).collect();
    ensure!(shown == [0, 1, 3], "{shown:?}");
    let note = who.notes.iter().find(|note| note.starts_with("GPU 2 has fallen off the bus"));
    note.with_context(|| format!("{:?}", who.notes))?;
    Ok(Held::new("three GPUs are shown, and the lost one is named"))
}

/// A device without memory of its own shows the host's.
fn unified_memory() -> Result<Held> {
    let who = who(&["--fault", "nvml-without-memory"])?;
    let device = who.device(0)?;
    ensure!(device.total_bytes > 0 && device.suspicions.is_empty(), "{device:?}");
    let note =
        who.notes.iter().find(|note| note.starts_with("NVML does not report the memory of GPU 0"));
    note.with_context(|| format!("{:?}", who.notes))?;
    Ok(Held::new("the host's memory, and a line that says so"))
}

/// Eight GPUs that take 30 ms for each answer: who held the memory is still seen.
fn slow() -> Result<Held> {
    let lab = ["--gpus", "8", "--memory", "4GiB", "--fault", "slow-nvml=30ms"];
    let lab = [&lab[..], &["--fault", "tenant=3GiB"]].concat();
    let recorded = script("fills.py", &lab)?.recorded("hardware/slow")?;
    let verdict = recorded.verdict()?.verdict;
    let named = verdict.headline.contains("holds 3.00 GiB");
    ensure!(verdict.cause == "other-process" && named, "{}: {}", verdict.cause, verdict.headline);
    Ok(Held::new("the other process is named, though NVML takes 30 ms for each answer"))
}

/// CUDA's first GPU is NVML's second: who holds memory there is looked for there.
fn fastest_first() -> Result<Held> {
    let lab = ["--gpu", "rtx-3060,rtx-4090", "--fault", "tenant=6GiB"];
    let recorded = script("second_gpu.py", &lab)?.recorded("hardware/order")?;
    let verdict = recorded.verdict()?.verdict;
    ensure!(verdict.cause == "other-process", "{}: {}", verdict.cause, verdict.headline);
    Ok(Held::new("the holder on CUDA's GPU 1, which NVML calls 0, is named"))
}
