//! GPU models, as a machine's were measured.

use anyhow::{Result, anyhow, ensure};
use whyoom_doctor::MeasuredGpu;
use whyoom_lab_core::{
    machine::Units,
    models::{self, Figure, GpuModel, Source},
};

use crate::{machine::MachineFile, misuse::Misuse};

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
            Misuse(format!("{name} is not in whyoom lab list: leave --machine out, and choose a similar one with --gpu"))
        })?;
        let measured = measured_model(file, known)?;
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
        let measured = machine.map(|file| measured_model(file, model)).transpose()?.flatten();
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

/// The model as it was measured there; nothing where the machine has no such GPU.
fn measured_model(
    file: &MachineFile,
    model: &'static GpuModel,
) -> Result<Option<&'static GpuModel>> {
    let Some(gpu) = file.machine.gpu(model.name) else { return Ok(None) };
    let measured = with_figures(*model, gpu);
    let possible = Units::of(&measured).are_possible()
        && measured.total.value > measured.context.value
        && measured.nvml_total.value >= measured.total.value;
    let cannot = || Misuse(format!("{}: the figures of {} cannot be", file.name, gpu.name));
    ensure!(possible, cannot());
    // There are few of them, and they live as long as the command.
    Ok(Some(Box::leak(Box::new(measured))))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use whyoom_doctor::Machine;

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
