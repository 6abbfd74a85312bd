//! The table holds no contradiction, and every model can be asked for.

use std::collections::BTreeSet;

use super::sheet::{context_by_rule, mib};
use super::{DEFAULT, GpuModel, MODELS, Source, find, letters};

fn names(model: &GpuModel) -> impl Iterator<Item = &'static str> {
    std::iter::once(model.name).chain(model.aliases.iter().copied())
}

#[test]
fn every_name_and_alias_finds_its_own_model() {
    for model in MODELS {
        for name in names(model) {
            assert_eq!(find(name).map(|found| found.name), Some(model.name), "asked for {name}");
        }
    }
}

#[test]
fn no_two_names_are_written_alike() {
    let mut taken = BTreeSet::new();
    for model in MODELS {
        let own: BTreeSet<String> = names(model).map(|name| letters(name).collect()).collect();
        assert_eq!(own.len(), 1 + model.aliases.len(), "{} repeats an alias", model.name);
        for name in own {
            assert!(taken.insert(name.clone()), "{name} names two models");
        }
    }
}

#[test]
fn writing_does_not_matter() {
    for written in ["RTX 4090", "rtx-4090", "Rtx4090", "nvidia geforce RTX 4090", "rtx_4090"] {
        assert_eq!(find(written).map(|model| model.name), Some("NVIDIA GeForce RTX 4090"));
    }
}

#[test]
fn an_unknown_or_empty_name_finds_nothing() {
    assert!(find("RTX 9999").is_none());
    assert!(find("").is_none());
    assert!(find(" - ").is_none());
}

#[test]
fn the_default_is_in_the_table() {
    assert_eq!(find(DEFAULT).map(|model| model.name), Some("NVIDIA A100-SXM4-80GB"));
}

#[test]
fn memory_figures_agree_with_each_other() {
    for model in MODELS {
        let name = model.name;
        let held_by_driver = model.nvml_total.value.checked_sub(model.total.value);
        let held_by_driver = held_by_driver.unwrap_or_else(|| panic!("{name}: more than NVML"));
        assert!(held_by_driver < model.nvml_total.value / 20, "{name}: {held_by_driver} held");
        assert!(model.context.value < model.total.value / 4, "{name}: context");
        assert!(model.granularity.value.is_power_of_two(), "{name}: granularity");
        assert!(model.slab.value.is_multiple_of(model.granularity.value), "{name}: slab");
        assert!(model.small_limit.value <= model.slab.value, "{name}: small limit");
        assert!(model.slab.value.is_multiple_of(model.small_unit.value), "{name}: small unit");
        assert!(model.pool_chunk.value.is_multiple_of(model.slab.value), "{name}: pool chunk");
    }
}

#[test]
fn chip_figures_are_plausible() {
    for model in MODELS {
        let name = model.name;
        assert!((20..200).contains(&model.multiprocessors.value), "{name}: multiprocessors");
        assert!(model.threads_per_multiprocessor.value.is_multiple_of(32), "{name}: threads");
        assert!(model.shared_per_block_optin.value <= model.shared_per_multiprocessor.value);
        assert!((mib(2)..=mib(128)).contains(&model.l2_bytes.value), "{name}: L2");
        assert!(model.bus_width_bits.value.is_multiple_of(32), "{name}: bus");
        assert!((1_000_000..3_000_000).contains(&model.clock_khz.value), "{name}: clock");
        assert!((800_000..15_000_000).contains(&model.memory_clock_khz.value), "{name}: memory");
        assert!((50..=1000).contains(&model.power_limit_watts.value), "{name}: power");
        assert!(u16::try_from(model.pci_device.value).is_ok(), "{name}: PCI device");
    }
}

#[test]
fn pci_devices_are_distinct() {
    let devices: BTreeSet<u32> = MODELS.iter().map(|model| model.pci_device.value).collect();
    assert_eq!(devices.len(), MODELS.len());
}

#[test]
fn the_context_rule_holds_wherever_a_context_was_observed() {
    let observed = MODELS.iter().filter(|model| model.context.source != Source::Assumed);
    for model in observed {
        let rule =
            context_by_rule(model.multiprocessors.value, model.threads_per_multiprocessor.value);
        let error = rule.abs_diff(model.context.value);
        assert!(error <= mib(20), "{}: the rule is {} MiB off", model.name, error / mib(1));
    }
}

#[test]
fn what_decides_an_answer_is_not_guessed() {
    for model in MODELS {
        assert_ne!(model.total.source, Source::Assumed, "{}: total", model.name);
    }
}
