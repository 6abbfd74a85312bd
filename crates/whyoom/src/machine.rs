//! `--machine FILE`: what `whyoom doctor --json` measured of a machine, in place of what the table assumes.

use std::{path::Path, str::FromStr};

use anyhow::{Context, Error, Result, anyhow, ensure};
use whyoom_allocators::CallCosts;
use whyoom_causes::Measured;
use whyoom_doctor::{Machine, MeasuredGpu};
use whyoom_files::untrusted;
use whyoom_lab_core::{
    machine::Units,
    models::{self, Figure, GpuModel, Source},
};
use whyoom_trace::Bytes;

use crate::misuse::Misuse;

/// A machine has a page of checks; nothing else is as long.
const LONGEST: u64 = 4 << 20;

/// A file of `whyoom doctor --json`.
#[derive(Clone, Debug)]
pub(crate) struct MachineFile {
    name: String,
    machine: Machine,
}

impl FromStr for MachineFile {
    type Err = Error;

    fn from_str(path: &str) -> Result<Self> {
        let read = untrusted::read(Path::new(path), LONGEST).context("cannot read it")?;
        let text = String::from_utf8_lossy(&read);
        let machine = Machine::read(&text).context("make it with whyoom doctor --json")?;
        let name = Path::new(path).file_name().unwrap_or_default().to_string_lossy().into_owned();
        Ok(Self { name, machine })
    }
}

impl MachineFile {
    /// What was measured, in words.
    pub(crate) fn told(&self) -> String {
        let mut told: Vec<String> = Vec::new();
        for gpu in &self.machine.gpus {
            let line = told_of(gpu);
            if !told.contains(&line) {
                told.push(line);
            }
        }
        format!("measured by whyoom doctor ({}): {}", self.name, told.join("; "))
    }

    /// The size of a context for a verdict: the largest, where GPUs differ.
    pub(crate) fn measured(&self) -> Measured {
        let contexts = self.machine.gpus.iter().filter_map(|gpu| gpu.figures.get("context"));
        Measured { context: contexts.max().copied().map(Bytes) }
    }

    /// What calls take here, for a replay.
    pub(crate) fn call_costs(&self) -> CallCosts {
        let usual = CallCosts::default();
        let nanoseconds = |time: std::time::Duration| time.as_nanos() as u64;
        self.machine.calls.map_or(usual, |calls| CallCosts {
            create: nanoseconds(calls.create),
            map: nanoseconds(calls.map),
            unmap: nanoseconds(calls.unmap),
            ..usual
        })
    }

    /// The model as it was measured here; nothing where this machine has no such GPU.
    fn measured_model(&self, model: &'static GpuModel) -> Result<Option<&'static GpuModel>> {
        let Some(gpu) = self.machine.gpu(model.name) else { return Ok(None) };
        let measured = with_figures(*model, gpu);
        let possible = Units::of(&measured).are_possible()
            && measured.total.value > measured.context.value
            && measured.nvml_total.value >= measured.total.value;
        let cannot = || Misuse(format!("{}: the figures of {} cannot be", self.name, gpu.name));
        ensure!(possible, cannot());
        // There are few of them, and they live as long as the command.
        Ok(Some(Box::leak(Box::new(measured))))
    }
}

/// The models that are meant: those of these names, or the machine's own where nobody names one; with what was
/// measured of each.
pub(crate) fn models_of(
    names: &[String],
    machine: Option<&MachineFile>,
) -> Result<Vec<&'static GpuModel>> {
    let Some(file) = machine else {
        return Ok(names.iter().filter_map(|name| models::find(name)).collect());
    };
    let own = || file.machine.gpus.iter().map(|gpu| gpu.name.as_str());
    let named: Vec<&str> =
        if names.is_empty() { own().collect() } else { names.iter().map(String::as_str).collect() };
    let model = |name: &str| {
        let known = models::find(name).ok_or_else(|| {
            Misuse(format!("{name} is not in whyoom lab list: --gpu NAME chooses a similar one"))
        })?;
        let measured = file.measured_model(known)?;
        measured.ok_or_else(|| {
            let machine = own().next().unwrap_or_default();
            anyhow!(Misuse(format!(
                "{} was measured on {machine}, not on {}",
                file.name, known.name
            )))
        })
    };
    named.into_iter().map(model).collect()
}

/// All models, those of the machine as they were measured.
pub(crate) fn all_models(machine: Option<&MachineFile>) -> Result<Vec<&'static GpuModel>> {
    let model = |model: &'static GpuModel| {
        let measured = machine.map(|file| file.measured_model(model)).transpose()?.flatten();
        Ok(measured.unwrap_or(model))
    };
    models::MODELS.iter().map(model).collect()
}

fn with_figures(mut model: GpuModel, gpu: &MeasuredGpu) -> GpuModel {
    let places = [
        ("total", &mut model.total),
        ("nvml_total", &mut model.nvml_total),
        ("context", &mut model.context),
        ("granularity", &mut model.granularity),
        ("slab", &mut model.slab),
        ("small_limit", &mut model.small_limit),
        ("small_unit", &mut model.small_unit),
        ("pool_chunk", &mut model.pool_chunk),
    ];
    for (name, place) in places {
        if let Some(value) = gpu.figures.get(name) {
            *place = Figure { value: *value, source: Source::Measured };
        }
    }
    model
}

fn told_of(gpu: &MeasuredGpu) -> String {
    let words = [("total", "memory"), ("context", "context"), ("granularity", "granularity")];
    let figure =
        |(name, word): (&str, &str)| Some(format!("{word} {}", Bytes(*gpu.figures.get(name)?)));
    let figures: Vec<String> = words.into_iter().filter_map(figure).collect();
    let simulated = if gpu.simulated { ", itself simulated" } else { "" };
    format!("{}{simulated}: {}", gpu.name, figures.join(", "))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn file(figures: &[(&str, u64)]) -> MachineFile {
        let figures: BTreeMap<String, u64> =
            figures.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect();
        let gpu = MeasuredGpu { name: "NVIDIA L4".to_owned(), simulated: false, figures };
        let machine = Machine { gpus: vec![gpu], calls: None };
        MachineFile { name: "doctor.json".to_owned(), machine }
    }

    #[test]
    fn measured_figures_take_the_place_of_the_tables() {
        let file = file(&[("context", 300 << 20)]);
        let models = models_of(&[], Some(&file)).expect("it is in the table");
        assert_eq!(models[0].name, "NVIDIA L4");
        assert_eq!(models[0].context, Figure { value: 300 << 20, source: Source::Measured });
        assert_eq!(models[0].total, models::find("l4").expect("there is one").total);
        assert!(file.told().contains("context 300.00 MiB"));
    }

    #[test]
    fn another_gpu_is_refused() {
        let error = models_of(&["t4".to_owned()], Some(&file(&[]))).expect_err("it is another");
        assert!(error.to_string().contains("measured on NVIDIA L4, not on Tesla T4"), "{error}");
    }

    #[test]
    fn figures_that_cannot_be_are_refused() {
        for wrong in [("context", 1 << 45), ("granularity", 3), ("slab", 0), ("nvml_total", 1)] {
            assert!(models_of(&[], Some(&file(&[wrong]))).is_err(), "{wrong:?}");
        }
    }
}
