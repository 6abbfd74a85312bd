//! Whether a tool's figures are those of `whyoom why --json`: each comparison counts what it compared.

use anyhow::{Context, Result, ensure};
use harness::documents::{Device, Finding, Incident, Totals, Why};

use super::figures::{Counter, Failure, Space, Sums, Table, Trace, Viewed};

/// Rows of a group in a table.
const MOST_ROWS: u64 = 1 << 17;

/// Compares figures, found and said, and counts them; an error at the first that is not equal.
fn equal<'a>(figures: impl IntoIterator<Item = (&'a str, u64, u64)>) -> Result<usize> {
    let mut compared = 0;
    for (what, found, said) in figures {
        ensure!(found == said, "{what} is {found}, and whyoom why says {said}");
        compared += 1;
    }
    Ok(compared)
}

/// Whether a space's figures are a caching allocator's, and not the driver's.
fn has_allocator(space: &Totals) -> bool {
    let is_other = |made| space.segments != 0 || space.blocks_made != made;
    space.driver.as_ref().is_none_or(|driver| is_other(driver.allocations_made))
}

/// All but those with nothing in them at any time: they have nothing to show.
fn spaces(said: &Why) -> Result<Vec<&Totals>> {
    let ever = |space: &&Totals| {
        let peaks = [space.peak_allocated_bytes, space.peak_reserved_bytes];
        peaks
            .into_iter()
            .chain([space.allocated_bytes, space.reserved_bytes])
            .any(|bytes| bytes > 0)
    };
    let spaces: Vec<_> = said.totals.iter().filter(ever).collect();
    ensure!(!spaces.is_empty(), "it has no memory");
    Ok(spaces)
}

/// The spaces of the process that a snapshot is of: the one that had most.
fn own_spaces(said: &Why) -> Result<Vec<&Totals>> {
    let mut spaces = spaces(said)?;
    let most = |process: &&String| -> u64 {
        let own = spaces.iter().filter(|space| space.process == **process);
        own.map(|space| space.peak_allocated_bytes.max(space.peak_reserved_bytes)).sum()
    };
    let chosen = spaces.iter().map(|space| &space.process).max_by_key(most).cloned();
    spaces.retain(|space| Some(&space.process) == chosen.as_ref());
    Ok(spaces)
}

/// Counters rise and end as they should, and every failure is there.
pub(super) fn perfetto(said: &Why, found: &Trace) -> Result<usize> {
    ensure!(found.errors.is_empty(), "the trace processor complains: {:?}", found.errors);
    let mut compared = 0;
    for space in spaces(said)? {
        compared += counters(space, &found.counters)?;
    }
    compared += equal([("failures", found.failures.len() as u64, said.incidents_seen)])?;
    ensure!(said.incidents.is_empty() == found.failures.is_empty(), "failures without incidents");
    for (found, said) in found.failures.iter().zip(&said.incidents) {
        compared += failure(found, said)?;
    }
    Ok(compared)
}

fn counters(space: &Totals, counters: &[Counter]) -> Result<usize> {
    let counter = |name: &str| {
        let name = match &space.device {
            Device::Ordinal(ordinal) => format!("GPU {ordinal} {name}"),
            Device::Host(host) => format!("{host} {name}"),
            Device::Unknown(()) => format!("a GPU {name}"),
        };
        let is_it = |one: &&Counter| one.counter == name && one.process == space.process;
        let found = counters.iter().find(is_it).with_context(|| format!("no counter {name}"))?;
        ensure!(found.points > 0, "{name} has no points");
        Ok(found)
    };
    let (allocated, reserved) = (counter("allocated")?, counter("reserved")?);
    let mut compared = equal([
        ("the end of allocated", allocated.latest, space.allocated_bytes),
        ("the end of reserved", reserved.latest, space.reserved_bytes),
    ])?;
    // Before its allocator begins, a process's figures are those of its driver memory.
    let is_above = |peak| space.peak_allocated_bytes >= peak;
    if !has_allocator(space) || space.driver.as_ref().is_none_or(|one| is_above(one.peak_bytes)) {
        compared += equal([
            ("the peak", allocated.highest, space.peak_allocated_bytes),
            ("most reserved", reserved.highest, space.peak_reserved_bytes),
        ])?;
    }
    if let Some(driver) = space.driver.as_ref().filter(|driver| driver.allocations_made > 0) {
        compared += equal([("the end of driver", counter("driver")?.latest, driver.held_bytes)])?;
    }
    Ok(compared)
}

fn failure(found: &Failure, said: &Incident) -> Result<usize> {
    let name = if said.message.is_some() { "message" } else { "out of memory" };
    ensure!(found.name == name, "{} in place of {name}", found.name);
    let Some(asked) = said.requested_bytes else { return Ok(0) };
    let told = found.arguments.get("requested bytes").context("no bytes were asked for")?;
    equal([("what was asked for", told.parse()?, asked)])
}

/// The sums over all spaces.
pub(super) fn pprof(said: &Why, total: impl Fn(&str) -> Result<u64>) -> Result<usize> {
    let spaces = spaces(said)?;
    let sum = |figure: fn(&Totals) -> u64| spaces.iter().map(|space| figure(space)).sum();
    equal([
        ("inuse_space", total("inuse_space")?, sum(|space| space.peak_allocated_bytes)),
        ("alloc_objects", total("alloc_objects")?, sum(|space| space.blocks_made)),
    ])
}

/// Peaks and ends of every space, sums of changes, and the statement of the document.
pub(super) fn parquet(said: &Why, found: &Table) -> Result<usize> {
    let schema = found.metadata.get("whyoom.schema").context("no schema")?;
    ensure!(schema == "whyoom.events", "the schema is {schema}");
    ensure!(found.sorted, "the rows are not in order");
    ensure!(0 < found.events && found.events <= found.rows, "{} events", found.events);
    ensure!((1..=MOST_ROWS).contains(&found.largest_group), "groups of {}", found.largest_group);
    let mut compared = 0;
    let mut peaks = Vec::new();
    for space in spaces(said)? {
        compared += rows(space, &found.spaces)?;
        if let Device::Ordinal(_) = space.device {
            peaks.push(space.peak_allocated_bytes);
        }
    }
    let highest = peaks.into_iter().max().context("no GPU")?;
    let sum = found.by_place.iter().map(|place| place.bytes).sum();
    Ok(compared + equal([("the sum by place at the peak", sum, highest)])?)
}

fn rows(space: &Totals, found: &[Space]) -> Result<usize> {
    let device = match space.device {
        Device::Ordinal(ordinal) => ordinal.into(),
        Device::Host(_) | Device::Unknown(()) => -1,
    };
    let layer = if has_allocator(space) { "blocks" } else { "driver" };
    let is_it =
        |one: &&Space| one.device == device && one.process == space.process && one.layer == layer;
    let row = found.iter().find(is_it).with_context(|| format!("no rows of device {device}"))?;
    equal([
        ("peak_allocated", row.peak_allocated, space.peak_allocated_bytes),
        ("peak_reserved", row.peak_reserved, space.peak_reserved_bytes),
        ("allocated", row.allocated, space.allocated_bytes),
        ("the sum of changes", row.changes, space.allocated_bytes),
        ("reserved", row.reserved, space.reserved_bytes),
        ("made", row.made, space.blocks_made),
    ])
}

/// What PyTorch's own viewer adds up, of the process that the file is of.
pub(super) fn snapshot(said: &Why, found: &Viewed) -> Result<usize> {
    let spaces = own_spaces(said)?;
    let mut compared = 0;
    for space in &spaces {
        // The host's memory has a list of its own, which the viewer does not read.
        let Device::Ordinal(ordinal) = space.device else { continue };
        let is_left = space.active_blocks > 0 || has_allocator(space) && space.reserved_bytes > 0;
        match found.devices.get(&ordinal) {
            Some(sums) => compared += viewed(space, sums)?,
            None => ensure!(!is_left, "GPU {ordinal} is missing"),
        }
    }
    let is_own = |one: &&Incident| one.message.is_none() && one.process == spaces[0].process;
    let asked = said.incidents.iter().filter(is_own).map(|one| one.requested_bytes);
    ensure!(found.failures.iter().copied().map(Some).eq(asked), "failures: {:?}", found.failures);
    let reserved = found.devices.values().map(|device| device.reserved_bytes).sum::<u64>();
    ensure!(found.flame_bytes == reserved, "{} bytes in its flame graph", found.flame_bytes);
    let is_drawn = found.trace_lines >= found.entries.iter().sum() && found.plot_bytes > 0;
    ensure!(is_drawn && !found.summary.is_empty(), "the viewer leaves something out");
    Ok(compared)
}

fn viewed(space: &Totals, found: &Sums) -> Result<usize> {
    let of_driver = [
        ("allocated_bytes", found.allocated_bytes, space.allocated_bytes),
        ("active_bytes", found.active_bytes, space.active_bytes),
        ("active_blocks", found.active_blocks, space.active_blocks),
    ];
    let of_allocator = [
        ("reserved_bytes", found.reserved_bytes, space.reserved_bytes),
        ("requested_bytes", found.requested_bytes, space.requested_bytes),
        ("segments", found.segments, space.segments),
    ];
    let of_allocator = has_allocator(space).then_some(of_allocator);
    equal(of_driver.into_iter().chain(of_allocator.into_iter().flatten()))
}

/// What our own importer makes of the file; of a snapshot, the verdict too.
pub(super) fn round_trip(said: &Why, again: &Why, is_snapshot: bool) -> Result<usize> {
    let mut compared = 0;
    for space in own_spaces(said)? {
        let own = again.totals.iter().find(|one| one.device == space.device);
        let own = own.with_context(|| format!("{:?} is missing", space.device))?;
        compared += read_back(own, space)?;
    }
    if is_snapshot {
        // Named after its file.
        let again = Finding { process: said.verdict.process.clone(), ..again.verdict.clone() };
        ensure!(again == said.verdict, "its verdict is {again:?} in place of {:?}", said.verdict);
        compared += 1;
    }
    Ok(compared)
}

/// All figures of a space are as they were, apart from the driver's, which a snapshot does not tell.
fn read_back(own: &Totals, space: &Totals) -> Result<usize> {
    let mut expected = Totals { process: own.process.clone(), driver: None, ..space.clone() };
    let mut figures = 10;
    if !has_allocator(space) {
        // Each allocation stands for a segment, and what a stream-ordered pool keeps is not told.
        (expected.segments, expected.reserved_bytes) = (own.segments, own.reserved_bytes);
        figures -= 2;
    }
    ensure!(*own == expected, "{own:?} in place of {expected:?}");
    Ok(figures)
}
