//! The driver's calls, as the lab logged them and as the recorder recorded them.

use std::{collections::BTreeMap, fs, path::Path};

use anyhow::{Context, Result, bail, ensure};
use whyoom_recording::{Losses, Recording, Unresolved};
use whyoom_trace::{
    Action, Address, Bytes, Event, HandleId, MemoryKind, Tables, driver_call_purpose, lines,
};

/// The events of a recording with the number of each one's process.
pub(super) struct Read {
    pub(super) events: Vec<(u32, Event)>,
    pub(super) tables: Tables,
}

/// Reads a recording whole; one that lost anything is an error.
pub(super) fn read(folder: &Path) -> Result<Read> {
    let (read, losses) = salvage(folder)?;
    ensure!(losses.is_whole() && losses.stopped.is_empty(), "the recording lacks: {losses}");
    Ok(read)
}

/// Reads what there is of a recording, and what is missing.
pub(super) fn salvage(folder: &Path) -> Result<(Read, Losses)> {
    let recording = Recording::open(folder)?;
    let (mut tables, mut events) = (Tables::default(), Vec::new());
    let losses = recording.read(&mut Unresolved, &mut tables, &mut events)?;
    let parts = recording.parts();
    let pid = |event: &Event| parts.get(event.origin.process.0 as usize).map(|part| part.pid);
    let events = events.into_iter().map(|event| Some((pid(&event)?, event)));
    let events: Option<Vec<_>> = events.collect();
    let events = events.context("an event of a process that the recording does not have")?;
    Ok((Read { events, tables }, losses))
}

/// Calls in words, by process and thread, each in its order.
#[derive(Default)]
pub(super) struct Calls {
    by_thread: BTreeMap<(u32, u32), Vec<String>>,
    /// The arrays of each process. A program gets a handle for one, and the lab logs where it lies.
    arrays: BTreeMap<u32, Vec<Address>>,
}

impl Calls {
    /// What the lab logged.
    pub(super) fn logged(log: &Path) -> Result<Self> {
        let (mut reader, mut tables) = (lines::Reader::default(), Tables::default());
        let mut calls = Self::default();
        let log = fs::read_to_string(log).context("nothing in the lab used the driver")?;
        for line in log.lines() {
            let event = reader.read(line, &mut tables).with_context(|| line.to_owned())?;
            let name = tables.process_name(event.origin.process);
            let (_, pid) = name.rsplit_once(' ').context("a process without a number")?;
            calls.add(pid.parse()?, &event, &tables);
        }
        Ok(calls)
    }

    /// What the recorder recorded.
    pub(super) fn recorded(read: &Read) -> Self {
        let mut calls = Self::default();
        for (pid, event) in &read.events {
            calls.add(*pid, event, &read.tables);
        }
        calls
    }

    fn add(&mut self, pid: u32, event: &Event, tables: &Tables) {
        let mut event = *event;
        if let Action::Alloc { kind: MemoryKind::Array, address, .. }
        | Action::Free { kind: MemoryKind::Array, address } = &mut event.action
        {
            *address = self.numbered(pid, *address);
        }
        // What only the lab knows of a call that it refuses: a handle that it had chosen, the size of
        // another process's memory.
        match &mut event.action {
            Action::Create { handle, .. } if event.result.0 != 0 => *handle = HandleId(0),
            Action::Alloc { kind: MemoryKind::Imported, size, .. } if event.result.0 != 0 => {
                *size = Bytes::ZERO;
            }
            _ => {}
        }
        if let Some(words) = in_words(&event, tables) {
            self.by_thread.entry((pid, event.origin.thread.0)).or_default().push(words);
        }
    }

    /// An array by the order in which the process made it.
    fn numbered(&mut self, pid: u32, array: Address) -> Address {
        let arrays = self.arrays.entry(pid).or_default();
        let known = arrays.iter().position(|known| *known == array);
        let number = known.unwrap_or_else(|| {
            arrays.push(array);
            arrays.len() - 1
        });
        Address(number as u64)
    }

    /// How many there are.
    pub(super) fn count(&self) -> u64 {
        self.by_thread.values().map(|calls| calls.len() as u64).sum()
    }

    /// How many processes made them.
    pub(super) fn processes(&self) -> usize {
        let mut pids: Vec<_> = self.by_thread.keys().map(|(pid, _)| pid).collect();
        pids.dedup();
        pids.len()
    }

    /// Nothing is missing and nothing is extra, in the order of each thread.
    pub(super) fn are(&self, logged: &Self) -> Result<()> {
        self.begin(logged)?;
        logged.begin(self).context("the other way round")
    }

    /// Nothing is wrong or extra, though recording may have stopped before the end.
    pub(super) fn begin(&self, logged: &Self) -> Result<()> {
        for (place @ (pid, thread), own) in &self.by_thread {
            let theirs = logged.by_thread.get(place).map_or(&[][..], Vec::as_slice);
            let at = (0..own.len()).find(|&at| own.get(at) != theirs.get(at));
            let Some(at) = at else { continue };
            let word = |calls: &[String]| calls.get(at).map_or("nothing".into(), Clone::clone);
            bail!(
                "process {pid}, thread {thread}, call {at} of {} and {}: {} against {}",
                own.len(),
                theirs.len(),
                word(own),
                word(theirs)
            );
        }
        Ok(())
    }
}

/// A call that the lab's log has too, as words that can be compared; nothing for what only one knows.
fn in_words(event: &Event, tables: &Tables) -> Option<String> {
    let call = match event.action {
        // The lab's log has no calls that are neither allocations nor launches.
        Action::LaunchFailed { kernel, .. }
            if driver_call_purpose(tables.text(kernel)).is_some() =>
        {
            return None;
        }
        Action::LaunchFailed { kernel, shared_memory } => {
            format!("LaunchFailed {} {}", tables.text(kernel), shared_memory.0)
        }
        Action::Alloc { .. }
        | Action::Free { .. }
        | Action::PoolTrim { .. }
        | Action::Reserve { .. }
        | Action::Unreserve { .. }
        | Action::Create { .. }
        | Action::Release { .. }
        | Action::Map { .. }
        | Action::Unmap { .. }
        | Action::ContextCreate
        | Action::ContextDestroy
        | Action::LimitSet { .. }
        | Action::Synchronize { .. } => format!("{:?}", event.action),
        _ => return None,
    };
    Some(format!("{call} on {} = {}", event.origin.device, event.result))
}
