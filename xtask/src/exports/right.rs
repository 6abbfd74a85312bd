//! Whether a tool's figures are those of `whyoom why --json`: each comparison counts what it compared.

use anyhow::{Context, Result, ensure};
use serde_json::Value;

/// Counts equal figures, and fails at the first that is not.
#[derive(Default)]
struct Tally(usize);

impl Tally {
    fn equal(&mut self, what: &str, found: &Value, said: &Value) -> Result<()> {
        ensure!(number(found) == number(said), "{what} is {found}, and whyoom why says {said}");
        self.0 += 1;
        Ok(())
    }
}

fn number(value: &Value) -> Option<i128> {
    value.as_u64().map(i128::from).or_else(|| value.as_i64().map(i128::from))
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// Whether a space's figures are a caching allocator's, and not the driver's.
fn has_allocator(space: &Value) -> bool {
    let driver = &space["driver"];
    driver.is_null() || space["segments"] != 0 || space["blocks_made"] != driver["allocations_made"]
}

/// Spaces with nothing in them at any time have nothing to show.
fn spaces(said: &Value) -> impl Iterator<Item = &Value> {
    let ever = ["peak_allocated_bytes", "peak_reserved_bytes", "allocated_bytes", "reserved_bytes"];
    list(&said["totals"]).iter().filter(move |space| ever.iter().any(|key| space[*key] != 0))
}

/// Counters rise and end as they should, and every failure is there.
pub(super) fn perfetto(said: &Value, found: &Value) -> Result<usize> {
    let mut tally = Tally::default();
    ensure!(
        list(&found["errors"]).is_empty(),
        "the trace processor complains: {}",
        found["errors"]
    );
    for space in spaces(said) {
        let device = match space["device"].as_u64() {
            Some(ordinal) => format!("GPU {ordinal}"),
            None => space["device"].as_str().unwrap_or_default().to_owned(),
        };
        let counter = |name: &str| {
            let name = format!("{device} {name}");
            let is_it = |one: &&Value| {
                one["counter"] == name.as_str() && one["process"] == space["process"]
            };
            list(&found["counters"])
                .iter()
                .find(is_it)
                .with_context(|| format!("no counter {name}"))
        };
        let (allocated, reserved) = (counter("allocated")?, counter("reserved")?);
        tally.equal("the end of allocated", &allocated["latest"], &space["allocated_bytes"])?;
        tally.equal("the end of reserved", &reserved["latest"], &space["reserved_bytes"])?;
        // Before its allocator begins, a process's figures are those of its driver memory.
        let of_driver = number(&space["driver"]["peak_bytes"]).unwrap_or(0);
        if !has_allocator(space) || number(&space["peak_allocated_bytes"]) >= Some(of_driver) {
            tally.equal("the peak", &allocated["highest"], &space["peak_allocated_bytes"])?;
            tally.equal("most reserved", &reserved["highest"], &space["peak_reserved_bytes"])?;
        }
        if number(&space["driver"]["allocations_made"]).is_some_and(|made| made > 0) {
            let driver = counter("driver")?;
            tally.equal("the end of driver", &driver["latest"], &space["driver"]["held_bytes"])?;
        }
    }
    let failures = list(&found["failures"]);
    tally.equal("failures", &failures.len().into(), &said["incidents_seen"])?;
    for (found, said) in failures.iter().zip(list(&said["incidents"])) {
        let Some(asked) = said["requested_bytes"].as_u64() else { continue };
        let told =
            found["arguments"]["requested bytes"].as_str().and_then(|text| text.parse().ok());
        tally.equal("what was asked for", &told.unwrap_or(0u64).into(), &asked.into())?;
    }
    Ok(tally.0)
}

/// The sums over all spaces.
pub(super) fn pprof(said: &Value, total: impl Fn(&str) -> Result<u64>) -> Result<usize> {
    let mut tally = Tally::default();
    let sum = |key: &str| spaces(said).filter_map(|space| space[key].as_u64()).sum::<u64>();
    for (index, key) in [("inuse_space", "peak_allocated_bytes"), ("alloc_objects", "blocks_made")]
    {
        tally.equal(index, &total(index)?.into(), &sum(key).into())?;
    }
    Ok(tally.0)
}

/// Peaks and ends of every space, sums of changes, and the statement of the document.
pub(super) fn parquet(said: &Value, found: &Value) -> Result<usize> {
    let mut tally = Tally::default();
    ensure!(
        found["metadata"]["whyoom.schema"] == "whyoom.events",
        "no schema: {}",
        found["metadata"]
    );
    ensure!(found["sorted"] != false, "the rows are not in order");
    ensure!(
        found["largest_group"].as_u64().is_some_and(|rows| rows <= 1 << 17),
        "groups are large"
    );
    let mut highest = 0;
    for space in spaces(said) {
        let device = space["device"].as_u64().map_or(-1, |ordinal| ordinal as i64);
        let layer = if has_allocator(space) { "blocks" } else { "driver" };
        let is_it = |one: &&Value| {
            one["device"] == device && one["process"] == space["process"] && one["layer"] == layer
        };
        let row = list(&found["spaces"]).iter().find(is_it);
        let row = row.with_context(|| format!("no rows of device {device}"))?;
        for (own, key) in [
            ("peak_allocated", "peak_allocated_bytes"),
            ("peak_reserved", "peak_reserved_bytes"),
            ("allocated", "allocated_bytes"),
            ("changes", "allocated_bytes"),
            ("reserved", "reserved_bytes"),
            ("made", "blocks_made"),
        ] {
            tally.equal(own, &row[own], &space[key])?;
        }
        if device >= 0 {
            highest = highest.max(space["peak_allocated_bytes"].as_u64().unwrap_or(0));
        }
    }
    let places = list(&found["by_place"]);
    let sum: u64 = places.iter().filter_map(|place| place["bytes"].as_u64()).sum();
    tally.equal("the sum by place at the peak", &sum.into(), &highest.into())?;
    Ok(tally.0)
}

/// What PyTorch's own viewer adds up, of the process that the file is of.
pub(super) fn snapshot(said: &Value, found: &Value) -> Result<usize> {
    let mut tally = Tally::default();
    for space in own_spaces(said) {
        // The host's memory has a list of its own, which the viewer does not read.
        let Some(ordinal) = space["device"].as_u64() else { continue };
        let device = &found["devices"][ordinal.to_string()];
        let keys: &[&str] = match (has_allocator(space), space["active_blocks"] == 0) {
            // Nothing is left: the file has no segment of the device.
            (_, true) if space["reserved_bytes"] == 0 || !has_allocator(space) => &[],
            (true, _) => &[
                "reserved_bytes",
                "allocated_bytes",
                "active_bytes",
                "requested_bytes",
                "active_blocks",
                "segments",
            ],
            (false, _) => &["allocated_bytes", "active_bytes", "active_blocks"],
        };
        for key in keys {
            tally.equal(key, &device[*key], &space[*key])?;
        }
    }
    let of_devices = |incident: &&Value| incident["message"].is_null();
    let process = own_spaces(said).next().map_or(&Value::Null, |space| &space["process"]);
    let failures: Vec<_> = list(&said["incidents"])
        .iter()
        .filter(of_devices)
        .filter(|incident| incident["process"] == *process)
        .collect();
    tally.equal("failures", &list(&found["failures"]).len().into(), &failures.len().into())?;
    Ok(tally.0)
}

/// What our own importer makes of the file; of a snapshot, the verdict too.
pub(super) fn round_trip(said: &Value, again: &Value, is_snapshot: bool) -> Result<usize> {
    let mut tally = Tally::default();
    for space in own_spaces(said) {
        let is_it = |one: &&Value| one["device"] == space["device"];
        let Some(own) = list(&again["totals"]).iter().find(is_it) else {
            ensure!(
                space["reserved_bytes"] == 0 && space["blocks_made"] == 0,
                "a device is missing"
            );
            continue;
        };
        if !has_allocator(space) {
            continue;
        }
        let ends = ["reserved_bytes", "allocated_bytes", "active_bytes", "requested_bytes"];
        let counts = ["active_blocks", "segments", "blocks_made", "blocks_freed"];
        let peaks = ["peak_allocated_bytes", "peak_reserved_bytes"];
        for key in ends.into_iter().chain(counts).chain(peaks) {
            tally.equal(key, &own[key], &space[key])?;
        }
    }
    if is_snapshot {
        for key in ["cause", "strength", "headline", "because", "evidence", "remedies"] {
            let (own, other) = (&again["verdict"][key], &said["verdict"][key]);
            ensure!(own == other, "read back, its {key} is {own} in place of {other}");
            tally.0 += 1;
        }
    }
    Ok(tally.0)
}

/// The spaces of the process that a snapshot is of: the one that had most.
fn own_spaces(said: &Value) -> impl Iterator<Item = &Value> {
    let most = |process: &Value| {
        let own = spaces(said).filter(|space| space["process"] == *process);
        own.filter_map(|space| {
            let peak = space["peak_allocated_bytes"].as_u64()?;
            Some(peak.max(space["peak_reserved_bytes"].as_u64()?))
        })
        .sum::<u64>()
    };
    let chosen = spaces(said).map(|space| &space["process"]).max_by_key(|process| most(process));
    spaces(said).filter(move |space| Some(&space["process"]) == chosen)
}
