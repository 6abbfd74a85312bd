//! PyTorch's blocks in a recording, against PyTorch's own history of the same process.

use std::{collections::BTreeMap, fs, path::Path};

use anyhow::{Context, Result, ensure};
use harness::{
    documents::{Device as Ordinal, Totals, Why},
    from_slice,
};
use serde::Deserialize;
use whyoom_trace::{Action, Bytes, DeviceId, Event, MemoryKind};

use super::calls::Read;

/// The most that a block is larger than what was asked for: what is too small to be split off.
const MOST_ADDED: u64 = 20 << 20;

/// What PyTorch says of one device.
#[derive(Deserialize)]
struct Device {
    /// Action, address, bytes.
    entries: Vec<(String, u64, u64)>,
    allocated: u64,
    reserved: u64,
}

/// Every process that PyTorch observed has the same blocks in the recording; how many there are.
pub(super) fn agree(read: &Read, history: &Path, why: &Why) -> Result<u64> {
    let mut blocks = 0;
    for (pid, devices) in observations(history)? {
        let events = read.events.iter().filter(|(own, _)| *own == pid);
        let events: Vec<&Event> = events.map(|(_, event)| event).collect();
        for (index, device) in devices.iter().enumerate() {
            let id = DeviceId(index as u16);
            let own: Vec<_> = events.iter().copied().filter(|e| e.origin.device == id).collect();
            blocks += device.agrees(&own).with_context(|| format!("process {pid}, {id}"))? as u64;
            device.agrees_with_totals(index, pid, &why.totals)?;
        }
    }
    ensure!(blocks > 0, "PyTorch's history is empty");
    Ok(blocks)
}

/// What each process wrote at its end: `of.PID`.
fn observations(history: &Path) -> Result<BTreeMap<u32, Vec<Device>>> {
    let mut all = BTreeMap::new();
    for entry in fs::read_dir(history)? {
        let path = entry?.path();
        let pid = path.extension().and_then(|pid| pid.to_str()).context("a file of nobody")?;
        all.insert(pid.parse()?, from_slice(&fs::read(&path)?)?);
    }
    ensure!(!all.is_empty(), "no process wrote PyTorch's history");
    Ok(all)
}

impl Device {
    fn agrees(&self, events: &[&Event]) -> Result<usize> {
        let blocks = self.same_blocks(events)?;
        self.same_segments(events)?;
        let (allocated, reserved) = held(events);
        ensure!(allocated == self.allocated, "{allocated} bytes in blocks, {}", self.allocated);
        ensure!(reserved == self.reserved, "{reserved} bytes reserved, {}", self.reserved);
        Ok(blocks)
    }

    /// Every block, in order: taken at the same address, no smaller than what was asked for.
    fn same_blocks(&self, events: &[&Event]) -> Result<usize> {
        let recorded: Vec<_> = events.iter().filter_map(|event| block(event)).collect();
        let wanted = |action: &str| ["alloc", "free_requested"].contains(&action);
        let history: Vec<_> =
            self.entries.iter().filter(|(action, ..)| wanted(action)).cloned().collect();
        for (at, (own, torch)) in recorded.iter().zip(&history).enumerate() {
            let fits = own.0 == torch.0 && own.1 == torch.1;
            let grown = own.2.checked_sub(torch.2).is_some_and(|added| added <= MOST_ADDED);
            ensure!(fits && (grown || own.0 != "alloc"), "block {at}: {own:?}, PyTorch: {torch:?}");
        }
        let (own, torch) = (recorded.len(), history.len());
        ensure!(own == torch, "{own} blocks were taken and given back, PyTorch says {torch}");
        Ok(own)
    }

    /// Every segment that PyTorch took from the driver is an allocation of the driver.
    fn same_segments(&self, events: &[&Event]) -> Result<()> {
        let mut taken = events.iter().filter_map(|event| match event.action {
            Action::Alloc { kind: MemoryKind::Device, address, size } if event.result.0 == 0 => {
                Some((address.0, size.0))
            }
            _ => None,
        });
        for (_, address, size) in self.entries.iter().filter(|entry| entry.0 == "segment_alloc") {
            let found = taken.any(|own| own == (*address, *size));
            ensure!(found, "a segment at {address:#x} of {size} bytes is no recorded allocation");
        }
        Ok(())
    }

    /// The verdict counts the same bytes.
    fn agrees_with_totals(&self, index: usize, pid: u32, totals: &[Totals]) -> Result<()> {
        let (allocated, reserved) = (self.allocated, self.reserved);
        let same = |total: &Totals| {
            let there = total.device == Ordinal::Ordinal(index as u16);
            there && (total.allocated_bytes, total.reserved_bytes) == (allocated, reserved)
        };
        ensure!(
            reserved == 0 || totals.iter().any(same),
            "process {pid}, GPU {index}: no total has {allocated} allocated and {reserved} reserved"
        );
        Ok(())
    }
}

/// A block taken or given back, as PyTorch's history tells it.
fn block(event: &Event) -> Option<(String, u64, u64)> {
    match event.action {
        Action::BlockAlloc { address, size, .. } => Some(("alloc".into(), address.0, size.0)),
        Action::BlockFree { address } => Some(("free_requested".into(), address.0, 0)),
        _ => None,
    }
}

/// What is in blocks at the end, and in driver allocations that had blocks.
fn held(events: &[&Event]) -> (u64, u64) {
    let mut blocks = BTreeMap::new();
    let mut segments: BTreeMap<u64, (Bytes, bool)> = BTreeMap::new();
    for event in events.iter().filter(|event| event.result.0 == 0) {
        match event.action {
            Action::BlockAlloc { address, size, .. } => {
                blocks.insert(address.0, size.0);
                if let Some((_, segment)) = segments.range_mut(..=address.0).next_back() {
                    segment.1 = true;
                }
            }
            Action::BlockFree { address } => drop(blocks.remove(&address.0)),
            Action::Alloc { kind: MemoryKind::Device, address, size } => {
                segments.insert(address.0, (size, false));
            }
            Action::Free { kind: MemoryKind::Device, address } => {
                segments.remove(&address.0);
            }
            _ => {}
        }
    }
    let reserved = segments.values().filter(|(_, used)| *used).map(|(size, _)| size.0);
    (blocks.values().sum(), reserved.sum())
}
