//! The GPUs that were asked for.

use anyhow::Result;
use whyoom_lab_core::models::GpuModel;

use super::gpu_name::ALL;
use crate::{
    machine::MachineFile,
    measured_models::{all_models, models_of},
};

/// A GPU that was asked for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Gpu {
    pub(crate) model: &'static GpuModel,
    /// Its place among those that were asked for.
    pub(crate) place: usize,
}

/// GPUs of one compute capability. Libraries choose their kernels and workspaces by it, so that one
/// run tells for all of them.
#[derive(Clone, Debug)]
pub(crate) struct Family {
    pub(crate) gpus: Vec<Gpu>,
}

impl Family {
    /// The one that the program is run on.
    pub(crate) fn ran_on(&self) -> &'static GpuModel {
        self.gpus[0].model
    }

    /// The others, each as a family of its own.
    pub(crate) fn others_alone(&self) -> impl Iterator<Item = Self> {
        self.gpus[1..].iter().map(|gpu| Self { gpus: vec![*gpu] })
    }
}

/// The GPUs that a list of names or `all` means, by compute capability; with another amount of memory
/// where one is given.
pub(crate) fn families(
    names: &[String],
    memory: Option<u64>,
    machine: Option<&MachineFile>,
) -> Result<Vec<Family>> {
    let mut families: Vec<Family> = Vec::new();
    for (place, model) in asked_for(names, machine)?.into_iter().enumerate() {
        let model = memory.map_or(model, |memory| with_memory(model, memory));
        let gpu = Gpu { model, place };
        let alike =
            |family: &&mut Family| family.ran_on().compute_capability == model.compute_capability;
        match families.iter_mut().find(alike) {
            Some(family) => family.gpus.push(gpu),
            None => families.push(Family { gpus: vec![gpu] }),
        }
    }
    Ok(families)
}

/// The same GPU with so much memory. There are few of them, and they live as long as the command.
fn with_memory(model: &'static GpuModel, memory: u64) -> &'static GpuModel {
    let mut model = *model;
    let held_by_driver = model.nvml_total.value - model.total.value;
    model.total.value = memory;
    model.nvml_total.value = memory + held_by_driver;
    Box::leak(Box::new(model))
}

fn asked_for(names: &[String], machine: Option<&MachineFile>) -> Result<Vec<&'static GpuModel>> {
    if names.iter().any(|name| name == ALL) {
        return all_models(machine);
    }
    let mut asked_for: Vec<&'static GpuModel> = Vec::new();
    for model in models_of(names, machine)? {
        if asked_for.iter().all(|known| known.name != model.name) {
            asked_for.push(model);
        }
    }
    Ok(asked_for)
}

#[cfg(test)]
mod tests {
    use whyoom_lab_core::models::MODELS;

    use super::*;

    fn named(names: &[&str]) -> Vec<Family> {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        families(&names, None, None).expect("there is no file")
    }

    #[test]
    fn gpus_that_compute_alike_are_one_family() {
        let alike = named(&["l4", "rtx-4090", "t4", "L4"]);
        let sizes: Vec<usize> = alike.iter().map(|family| family.gpus.len()).collect();
        assert_eq!(sizes, [2, 1]);
        assert!(named(&["all"]).len() < MODELS.len());
        let small = families(&["t4".to_owned()], Some(2 << 30), None).expect("there is no file");
        assert_eq!(small[0].ran_on().total.value, 2 << 30);
    }
}
