//! `whyoom lab calibrate` on each simulated model gives the model's own figures back.

use std::collections::BTreeMap;

use anyhow::{Result, ensure};
use harness::{Build, Check, Held, Trial, documents::nullable, from_str, slug, text};
use serde::Deserialize;
use whyoom_lab_core::models::{GpuModel, MODELS};

/// What the table has of each model, by name.
const FIGURES: [&str; 20] = [
    "bus_width_bits",
    "clock_khz",
    "compute_capability",
    "context",
    "granularity",
    "l2_bytes",
    "memory_clock_khz",
    "multiprocessors",
    "nvml_total",
    "pci_device",
    "pool_chunk",
    "power_limit_watts",
    "registers_per_multiprocessor",
    "shared_per_block_optin",
    "shared_per_multiprocessor",
    "slab",
    "small_limit",
    "small_unit",
    "threads_per_multiprocessor",
    "total",
];

/// `whyoom lab calibrate --json`.
#[derive(Deserialize)]
struct Calibration {
    schema: String,
    version: u32,
    device: Device,
    simulated: bool,
    figures: BTreeMap<String, Figure>,
    source_text: String,
}

#[derive(Deserialize)]
struct Device {
    index: u32,
    #[expect(dead_code, reason = "the model is compared")]
    name: String,
    #[serde(deserialize_with = "nullable")]
    model: Option<String>,
    #[expect(dead_code, reason = "the lab makes it up")]
    pci_bus_id: String,
    #[expect(dead_code, reason = "it is the driver's, not the model's")]
    cuda_version: u32,
}

/// One that was measured: what was not has `not_measured` in place of `by`.
#[derive(Debug, Deserialize)]
struct Figure {
    value: Amount,
    table: Amount,
    equal: bool,
    by: String,
}

#[derive(Debug, PartialEq, Deserialize)]
#[serde(untagged)]
enum Amount {
    Number(u64),
    Version([u64; 2]),
}

pub(super) fn checks() -> Vec<Check> {
    let check = |model: &'static GpuModel| {
        Check::new(format!("models::{}", slug(model.name)), move || run(model))
    };
    MODELS.iter().map(check).collect()
}

fn run(model: &GpuModel) -> Result<Held> {
    let command = [&text(&Build::ready()?.whyoom()), "lab", "calibrate", "--json"];
    let ran = Trial::on(&["--gpu", model.name], &command).plain()?;
    let answer: Calibration = from_str(&ran.succeeded()?.stdout)?;
    let schema = (answer.schema.as_str(), answer.version);
    ensure!(schema == ("whyoom.lab.calibration", 1), "the schema is {schema:?}");
    ensure!(answer.simulated, "not said to be simulated");
    ensure!(answer.device.index == 0 && answer.device.model.as_deref() == Some(model.name));
    ensure!(!answer.source_text.is_empty(), "no row for the table");
    ensure!(answer.figures.keys().eq(FIGURES.iter()), "it tells {:?}", answer.figures.keys());
    for (name, figure) in &answer.figures {
        let measured = figure.equal && figure.value == figure.table && !figure.by.is_empty();
        ensure!(measured, "{name} is {figure:?}");
    }
    let count = FIGURES.len() as u64;
    Ok(Held::new(format!("{count} figures measured and equal")).count("figures", count))
}
