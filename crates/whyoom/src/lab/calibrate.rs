//! `whyoom lab calibrate`.

use std::io::{self, Write};

use anyhow::{Result, anyhow};
use serde_json::{Map, Value, json};
use whyoom_lab_calibrate::{Calibration, Comparison, Error, Measurement, Unit, calibrate};
use whyoom_trace::Bytes;

use crate::{arguments::LabCalibrateArguments, visible};

/// The schema's name and version (docs/json.md).
const SCHEMA: &str = "whyoom.lab.calibration";
const VERSION: u32 = 1;

pub(crate) fn run(arguments: &LabCalibrateArguments) -> Result<()> {
    let calibration = calibrate(arguments.device).map_err(|error| match visible::hides_all() {
        Some(hidden) if error == Error::NoGpu => anyhow!(hidden),
        _ => error.into(),
    })?;
    let mut out = anstream::stdout().lock();
    if arguments.json {
        writeln!(out, "{:#}", as_json(&calibration))?;
        return Ok(());
    }
    print_head(&mut out, &calibration)?;
    print_table(&mut out, &calibration)?;
    writeln!(out, "\n{}", calibration.source_text().trim_end())?;
    Ok(())
}

fn print_head(out: &mut impl Write, calibration: &Calibration) -> io::Result<()> {
    let Calibration { device_name, device, pci_bus_id, .. } = calibration;
    writeln!(out, "GPU {device}: {device_name}, PCI {pci_bus_id}")?;
    if calibration.is_simulated() {
        writeln!(out, "This GPU is simulated: the values show what the lab does, not hardware.")?;
    }
    match calibration.model() {
        Some(model) => writeln!(out, "In the table: {}\n", model.name),
        None => writeln!(out, "No model of this name is in the table.\n"),
    }
}

fn print_table(out: &mut impl Write, calibration: &Calibration) -> io::Result<()> {
    let line = |out: &mut dyn Write, [figure, measured, table, equal, by]: [&str; 5]| {
        writeln!(out, "{figure:<28} {measured:>26} {table:>26}  {equal:<6} {by}")
    };
    line(out, ["figure", "measured", "in the table", "equal", "by"])?;
    for comparison in calibration.comparisons() {
        let unit = comparison.figure.unit();
        let (measured, remark) = match comparison.measurement {
            Measurement::Measured { value, by } => (for_people(unit, *value), by),
            Measurement::NotMeasured { why } => ("not measured".to_owned(), why),
        };
        let table = comparison.table.map(|value| for_people(unit, value)).unwrap_or_default();
        let equal = comparison.is_equal().map_or("", |equal| if equal { "yes" } else { "NO" });
        line(out, [comparison.figure.name(), &measured, &table, equal, remark])?;
    }
    Ok(())
}

/// The exact number, and where it is hard to read, a shorter one beside it.
fn for_people(unit: Unit, value: u64) -> String {
    match unit {
        Unit::Bytes if value < 1024 => format!("{value} B"),
        Unit::Bytes => format!("{value} B ({})", Bytes(value)),
        Unit::Bits => format!("{value} bit"),
        Unit::Count => value.to_string(),
        Unit::Kilohertz => format!("{value} kHz"),
        Unit::Watts => format!("{value} W"),
        Unit::Identifier => format!("{value:#06x}"),
        Unit::Version => format!("{}.{}", value / 10, value % 10),
    }
}

fn as_json(calibration: &Calibration) -> Value {
    let figures: Map<String, Value> = calibration.comparisons().map(figure).collect();
    json!({
        "schema": SCHEMA,
        "version": VERSION,
        "device": {
            "index": calibration.device,
            "name": calibration.device_name,
            "model": calibration.model().map(|model| model.name),
            "pci_bus_id": calibration.pci_bus_id,
            "cuda_version": calibration.cuda_version,
        },
        "simulated": calibration.is_simulated(),
        "figures": figures,
        "source_text": calibration.source_text(),
    })
}

fn figure(comparison: Comparison<'_>) -> (String, Value) {
    let in_json = |value: u64| match comparison.figure.unit() {
        Unit::Version => json!([value / 10, value % 10]),
        _ => json!(value),
    };
    let (key, remark) = match comparison.measurement {
        Measurement::Measured { by, .. } => ("by", by),
        Measurement::NotMeasured { why } => ("not_measured", why),
    };
    let value = json!({
        "value": comparison.measurement.value().map(in_json),
        "table": comparison.table.map(in_json),
        "equal": comparison.is_equal(),
        key: remark,
    });
    (comparison.figure.name().to_owned(), value)
}
