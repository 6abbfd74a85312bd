//! The GPUs that were asked for.

use anyhow::Result;
use whyoom_lab_core::models::{self, GpuModel, MODELS};

use crate::lab::gpu_name as one_gpu;

/// A GPU that was asked for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Gpu {
    pub(crate) model: &'static GpuModel,
    /// Its place among those that were asked for.
    pub(crate) place: usize,
}

/// GPUs of one compute capability. Libraries choose their kernels and workspaces by it, so that one
/// run tells for all of them.
#[derive(Debug)]
pub(crate) struct Family {
    pub(crate) gpus: Vec<Gpu>,
}

impl Family {
    /// The one that the program is run on.
    pub(crate) fn ran_on(&self) -> &'static GpuModel {
        self.gpus[0].model
    }
}

/// All of them.
const ALL: &str = "all";

/// A name that `--gpu` takes.
pub(crate) fn gpu_name(name: &str) -> Result<String> {
    if name == ALL { Ok(name.to_owned()) } else { one_gpu(name) }
}

/// The GPUs that a list of names or `all` means, by compute capability; with another amount of memory
/// where one is given.
pub(crate) fn families(names: &[String], memory: Option<u64>) -> Vec<Family> {
    let mut families: Vec<Family> = Vec::new();
    for (place, model) in asked_for(names).into_iter().enumerate() {
        let model = memory.map_or(model, |memory| with_memory(model, memory));
        let gpu = Gpu { model, place };
        let alike =
            |family: &&mut Family| family.ran_on().compute_capability == model.compute_capability;
        match families.iter_mut().find(alike) {
            Some(family) => family.gpus.push(gpu),
            None => families.push(Family { gpus: vec![gpu] }),
        }
    }
    families
}

/// The same GPU with so much memory. There are few of them, and they live as long as the command.
fn with_memory(model: &'static GpuModel, memory: u64) -> &'static GpuModel {
    let mut model = *model;
    let held_by_driver = model.nvml_total.value - model.total.value;
    model.total.value = memory;
    model.nvml_total.value = memory + held_by_driver;
    Box::leak(Box::new(model))
}

fn asked_for(names: &[String]) -> Vec<&'static GpuModel> {
    if names.iter().any(|name| name == ALL) {
        return MODELS.iter().collect();
    }
    let mut asked_for: Vec<&'static GpuModel> = Vec::new();
    for model in names.iter().filter_map(|name| models::find(name)) {
        if asked_for.iter().all(|known| known.name != model.name) {
            asked_for.push(model);
        }
    }
    asked_for
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(names: &[&str]) -> Vec<Family> {
        families(&names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>(), None)
    }

    #[test]
    fn gpus_that_compute_alike_are_one_family() {
        let families = named(&["l4", "rtx-4090", "t4", "L4"]);
        let sizes: Vec<usize> = families.iter().map(|family| family.gpus.len()).collect();
        assert_eq!(sizes, [2, 1]);
        assert!(named(&["all"]).len() < MODELS.len());
        let small = super::families(&["t4".to_owned()], Some(2 << 30));
        assert_eq!(small[0].ran_on().total.value, 2 << 30);
        assert!(gpu_name("rtx 4090").is_ok() && gpu_name("all").is_ok());
        assert!(gpu_name("nothing").is_err());
    }
}
