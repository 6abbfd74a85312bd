//! A device that is made up: streams whose work is done late and in any order that their events
//! allow, memory that knows who wrote it last, and mappings that must be there when work is done.

#![allow(dead_code, reason = "each test uses a part")]

use std::{
    collections::{BTreeMap, HashMap, HashSet, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use whyoom_pool::{Answer, Driver, Event, Physical, Refusal, Stream};

pub(crate) const PAGE: u64 = 2 << 20;
const CELL: u64 = 512;
const INVALID: Refusal = Refusal(1);

/// A piece of work.
#[derive(Clone, Debug)]
pub(crate) enum Work {
    /// Writes its tag into memory.
    Write {
        address: u64,
        size: u64,
        tag: u64,
    },
    /// Finds its tag there, unchanged.
    Find {
        address: u64,
        size: u64,
        tag: u64,
    },
    Record(u64, u64),
    Wait(u64, u64),
}

#[derive(Default)]
pub(crate) struct State {
    total: u64,
    next_address: u64,
    next_handle: u64,
    /// Physical memory: whether its handle was released.
    physical: HashMap<u64, bool>,
    /// Page address to memory, and whether it may be used.
    mapped: BTreeMap<u64, (u64, bool)>,
    cells: HashMap<(u64, u64), u64>,
    streams: BTreeMap<u64, VecDeque<Work>>,
    /// How often an event was recorded, and how often that was reached.
    recorded: HashMap<u64, u64>,
    reached: HashMap<u64, u64>,
    pub(crate) capturing: HashSet<u64>,
    pub(crate) captured: Vec<Work>,
    pub(crate) relaxed: i64,
    pub(crate) waits: u64,
    pub(crate) synchronizes: u64,
    /// What the device refuses for want of room: so many mappings from now on are made, and none after them.
    pub(crate) mappings_left: Option<u64>,
    /// Likewise the granting of access.
    pub(crate) accesses_left: Option<u64>,
    /// The next mapping is refused, and no other.
    pub(crate) one_refusal: bool,
}

/// Counts one down; refused where none is left.
fn take_one(left: &mut Option<u64>) -> Answer<()> {
    let Some(left) = left else { return Ok(()) };
    *left = left.checked_sub(1).ok_or(Refusal::OUT_OF_MEMORY)?;
    Ok(())
}

/// The device; clones are the same one.
#[derive(Clone, Default)]
pub(crate) struct Fake(Arc<Mutex<State>>);

impl Fake {
    pub(crate) fn new(total: u64) -> Self {
        let state = State { total, next_address: 1 << 40, ..State::default() };
        Self(Arc::new(Mutex::new(state)))
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Gives a stream work, or a graph where the stream is captured.
    pub(crate) fn launch(&self, stream: Stream, work: Work) {
        self.state().push(stream.0, work);
    }

    /// Does the next work of some stream that can go on; whether there was any.
    pub(crate) fn advance(&self, choice: usize) -> bool {
        self.state().advance(choice)
    }

    /// Bytes that are taken from the device.
    pub(crate) fn in_use(&self) -> u64 {
        self.state().physical.len() as u64 * PAGE
    }

    /// Does all work.
    pub(crate) fn finish(&self) {
        while self.advance(0) {}
    }
}

impl State {
    fn push(&mut self, stream: u64, work: Work) {
        if self.capturing.contains(&stream) {
            self.captured.push(work);
        } else {
            self.streams.entry(stream).or_default().push_back(work);
        }
    }

    fn advance(&mut self, choice: usize) -> bool {
        let can_go_on = |queue: &VecDeque<Work>| match queue.front() {
            Some(Work::Wait(event, count)) => {
                self.reached.get(event).copied().unwrap_or(0) >= *count
            }
            Some(_) => true,
            None => false,
        };
        let ready: Vec<u64> = self
            .streams
            .iter()
            .filter(|(_, queue)| can_go_on(queue))
            .map(|(stream, _)| *stream)
            .collect();
        let Some(stream) = ready.get(choice % ready.len().max(1)).copied() else { return false };
        if let Some(work) = self.streams.get_mut(&stream).and_then(VecDeque::pop_front) {
            self.perform(&work);
        }
        true
    }

    pub(crate) fn perform(&mut self, work: &Work) {
        match *work {
            Work::Write { address, size, tag } => {
                for cell in self.cells_of(address, size) {
                    self.cells.insert(cell, tag);
                }
            }
            Work::Find { address, size, tag } => {
                for cell in self.cells_of(address, size) {
                    let found = self.cells.get(&cell).copied();
                    assert_eq!(found, Some(tag), "somebody wrote into {address:#x}+{size}");
                }
            }
            Work::Record(event, count) => {
                let reached = self.reached.entry(event).or_default();
                *reached = (*reached).max(count);
            }
            Work::Wait(..) => {}
        }
    }

    /// A part of the physical cells behind a range, chosen by where they are, so that ranges which
    /// overlap share some. All pages must be mapped and allowed.
    fn cells_of(&self, address: u64, size: u64) -> Vec<(u64, u64)> {
        let cells = size.div_ceil(CELL);
        let (mut chosen, mut page) = (Vec::new(), None);
        for index in 0..cells {
            let at = address + index * CELL;
            let (base, offset) = (at / PAGE * PAGE, at % PAGE);
            if page.is_none_or(|(known, _)| known != base) {
                let mapped = self.mapped.get(&base).filter(|(_, allowed)| *allowed);
                page = Some((base, mapped.expect("what is used is mapped").0));
            }
            let edge = index < 4 || cells - index <= 4;
            if let Some((_, memory)) = page
                && (edge || (at / CELL).is_multiple_of(64))
            {
                chosen.push((memory, offset));
            }
        }
        chosen
    }

    fn drop_unused(&mut self, memory: u64) {
        let is_mapped = self.mapped.values().any(|(other, _)| *other == memory);
        if !is_mapped && self.physical.get(&memory) == Some(&true) {
            self.physical.remove(&memory);
        }
    }

    fn reach(&mut self, event: u64) {
        let wanted = self.recorded.get(&event).copied().unwrap_or(0);
        while self.reached.get(&event).copied().unwrap_or(0) < wanted {
            assert!(self.advance(0), "event {event} is never reached");
        }
    }
}

impl Driver for Fake {
    fn total(&self) -> u64 {
        self.state().total
    }

    fn free(&self) -> Answer<u64> {
        let state = self.state();
        Ok(state.total - state.physical.len() as u64 * PAGE)
    }

    fn reserve(&self, size: u64) -> Answer<u64> {
        let mut state = self.state();
        let address = state.next_address;
        state.next_address += size.next_multiple_of(PAGE) + PAGE;
        Ok(address)
    }

    fn create(&self, size: u64) -> Answer<Physical> {
        assert_eq!(size, PAGE);
        let mut state = self.state();
        if (state.physical.len() as u64 + 1) * PAGE > state.total {
            return Err(Refusal::OUT_OF_MEMORY);
        }
        state.next_handle += 1;
        let handle = state.next_handle;
        state.physical.insert(handle, false);
        Ok(Physical(handle))
    }

    fn release(&self, memory: Physical) -> Answer<()> {
        let mut state = self.state();
        let released = state.physical.get_mut(&memory.0).ok_or(INVALID)?;
        assert!(!*released, "released twice");
        *released = true;
        state.drop_unused(memory.0);
        Ok(())
    }

    fn map(&self, address: u64, size: u64, memory: Physical) -> Answer<()> {
        assert_eq!((size, address % PAGE), (PAGE, 0));
        let mut state = self.state();
        assert!(state.physical.contains_key(&memory.0), "memory that is not there");
        assert!(!state.mapped.contains_key(&address), "{address:#x} is mapped already");
        take_one(&mut state.mappings_left)?;
        if std::mem::take(&mut state.one_refusal) {
            return Err(Refusal::OUT_OF_MEMORY);
        }
        state.mapped.insert(address, (memory.0, false));
        Ok(())
    }

    fn allow(&self, address: u64, size: u64) -> Answer<()> {
        let mut state = self.state();
        take_one(&mut state.accesses_left)?;
        for page in (address..address + size).step_by(PAGE as usize) {
            state.mapped.get_mut(&page).ok_or(INVALID)?.1 = true;
        }
        Ok(())
    }

    fn unmap(&self, address: u64, _: u64) -> Answer<()> {
        let mut state = self.state();
        let (memory, _) = state.mapped.remove(&address).ok_or(INVALID)?;
        state.drop_unused(memory);
        Ok(())
    }

    fn event(&self) -> Answer<Event> {
        let mut state = self.state();
        state.next_handle += 1;
        Ok(Event(state.next_handle))
    }

    fn record(&self, event: Event, stream: Stream) -> Answer<()> {
        let mut state = self.state();
        assert!(!state.capturing.contains(&stream.0), "an event in a capture");
        let count = state.recorded.entry(event.0).or_default();
        *count += 1;
        let count = *count;
        state.push(stream.0, Work::Record(event.0, count));
        Ok(())
    }

    fn has_passed(&self, event: Event) -> Answer<bool> {
        let state = self.state();
        assert!(state.capturing.is_empty() || state.relaxed > 0, "a question spoils the capture");
        let count = |counts: &HashMap<u64, u64>| counts.get(&event.0).copied().unwrap_or(0);
        Ok(count(&state.reached) >= count(&state.recorded))
    }

    fn wait(&self, event: Event) -> Answer<()> {
        let mut state = self.state();
        state.waits += 1;
        state.reach(event.0);
        Ok(())
    }

    fn order(&self, stream: Stream, event: Event) -> Answer<()> {
        let mut state = self.state();
        assert!(!state.capturing.contains(&stream.0), "a wait in a capture");
        let count = state.recorded.get(&event.0).copied().unwrap_or(0);
        state.push(stream.0, Work::Wait(event.0, count));
        Ok(())
    }

    fn is_capturing(&self, stream: Stream) -> Answer<bool> {
        Ok(self.state().capturing.contains(&stream.0))
    }

    fn relax(&self) -> u32 {
        self.state().relaxed += 1;
        0
    }

    fn strict_again(&self, _: u32) {
        self.state().relaxed -= 1;
    }

    fn finish(&self, _: Stream) -> Answer<()> {
        self.synchronize()
    }

    fn synchronize(&self) -> Answer<()> {
        let mut state = self.state();
        state.synchronizes += 1;
        while state.advance(0) {}
        Ok(())
    }

    fn fill(&self, _: u64, _: u8, _: u64, _: Stream) -> Answer<()> {
        Ok(())
    }

    fn read(&self, _: u64, into: &mut [u8], _: Stream) -> Answer<()> {
        into.fill(0xA5);
        Ok(())
    }
}
