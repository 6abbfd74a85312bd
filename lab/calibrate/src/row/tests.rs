//! The text has the table's form, and its numbers.

use std::collections::BTreeMap;

use whyoom_lab_core::models::MODELS;

use super::*;
use crate::Error;

/// A calibration that gives the table back.
fn of_table(name: &str) -> Calibration {
    let model = whyoom_lab_core::models::find(name).unwrap();
    let mut calibration = Calibration {
        device_name: model.name.to_owned(),
        device: 0,
        pci_bus_id: String::new(),
        cuda_version: 13020,
        measured: BTreeMap::new(),
    };
    for figure in Figure::all() {
        calibration.record(figure, Ok(figure.of(model)), "the table");
    }
    calibration
}

#[test]
fn a_row_has_the_form_of_the_table() {
    let text = of_table("a100-40gb").source_text();
    let expected = r#"// lab/core/src/models: the row
const A100_SXM4_40GB_MEASURED: &str = "whyoom lab calibrate, CUDA 13.2 driver";

pub(super) const A100_SXM4_40GB: GpuModel = Sheet {
    name: "NVIDIA A100-SXM4-40GB",
    aliases: &["a100-40gb"],
    architecture: AMPERE,
    total: seen(42_298_834_944, A100_SXM4_40GB_MEASURED),
    nvml_total: seen(mib(40_960), A100_SXM4_40GB_MEASURED),
    context: Some(seen(mib(418), A100_SXM4_40GB_MEASURED)),
    chip: Chip::from(Observed(A100_SXM4_40GB_MEASURED), 108, mib(40), 5120),
    clocks: Clocks::from(Observed(A100_SXM4_40GB_MEASURED), 1215, 1410),
    watts: seen(400, A100_SXM4_40GB_MEASURED),
    pci_device: 0x20b0,
}
.model();

// lab/core/src/models/architecture.rs
pub(super) const AMPERE: Architecture = limits((8, 0), 163, 164, 2048);

// lab/core/src/models/sheet.rs, in Sheet::model
granularity: seen(mib(2), A100_SXM4_40GB_MEASURED),
slab: seen(mib(2), A100_SXM4_40GB_MEASURED),
small_limit: seen(mib(1), A100_SXM4_40GB_MEASURED),
small_unit: seen(512, A100_SXM4_40GB_MEASURED),
pool_chunk: seen(mib(32), A100_SXM4_40GB_MEASURED),
"#;
    assert_eq!(text, expected);
}

#[test]
fn what_was_not_measured_does_not_compile() {
    let mut calibration = of_table("h200");
    for figure in Figure::all() {
        calibration.record(figure, Err(Error::Unsteady), "");
    }
    let text = calibration.source_text();
    assert!(text.contains("context: None,"), "the table has a rule for it");
    assert_eq!(text.matches(NOT_MEASURED).count(), 20 + 1, "{text}");
}

#[test]
fn a_simulated_device_is_no_evidence() {
    let mut calibration = of_table("h200");
    calibration.device_name.push_str(crate::calibration::SIMULATED);
    assert!(calibration.source_text().contains("no evidence of hardware"));
    assert!(calibration.source_text().contains("name: \"NVIDIA H200\""));
}

/// The table's own lines, one for each architecture.
#[test]
fn architectures_are_called_and_written_as_in_the_table() {
    let table = include_str!("../../../core/src/models/architecture.rs");
    let lines = table.lines().filter(|line| line.contains(": Architecture = limits("));
    assert_eq!(lines.count(), ARCHITECTURES.len());
    for model in MODELS {
        let text = of_table(model.name).architecture();
        let line = text.lines().nth(1).unwrap();
        assert!(table.contains(line), "{}: {line}", model.name);
    }
}

#[test]
fn numbers_are_grouped_as_the_table_groups_them() {
    let written = [7, 999, 5001, 10_501, 123_456, 1_234_567].map(grouped);
    assert_eq!(written, ["7", "999", "5001", "10_501", "123_456", "1_234_567"]);
    assert_eq!(size(11 * MIB / 4), "2_883_584");
    assert_eq!(constant_of("NVIDIA GeForce RTX 4060 Ti"), "RTX_4060_TI");
}
