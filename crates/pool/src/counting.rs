//! A driver whose calls are counted.

use std::sync::atomic::Ordering::Relaxed;

use crate::{
    driver::{Answer, Driver, Event, Physical, Stream},
    sync::AtomicU64,
};

/// Calls so far, by what they do.
#[derive(Debug, Default)]
pub(crate) struct Calls {
    pub(crate) reserves: AtomicU64,
    pub(crate) creates: AtomicU64,
    pub(crate) releases: AtomicU64,
    pub(crate) maps: AtomicU64,
    pub(crate) unmaps: AtomicU64,
    pub(crate) access: AtomicU64,
    /// Events made, recorded, asked, waited for, and streams told to wait.
    pub(crate) events: AtomicU64,
    /// All others: questions about captures, guards of the debug mode.
    pub(crate) others: AtomicU64,
}

impl Calls {
    /// All of them.
    pub(crate) fn sum(&self) -> u64 {
        let Self { reserves, creates, releases, maps, unmaps, access, events, others } = self;
        let all = [reserves, creates, releases, maps, unmaps, access, events, others];
        all.iter().map(|calls| calls.load(Relaxed)).sum()
    }
}

/// A driver whose calls are counted.
pub(crate) struct Counting {
    driver: Box<dyn Driver>,
    pub(crate) calls: Calls,
}

impl Counting {
    pub(crate) fn new(driver: Box<dyn Driver>) -> Self {
        Self { driver, calls: Calls::default() }
    }

    fn other(&self) -> &dyn Driver {
        self.counted(&self.calls.others)
    }

    fn event_call(&self) -> &dyn Driver {
        self.counted(&self.calls.events)
    }

    fn counted(&self, calls: &AtomicU64) -> &dyn Driver {
        calls.fetch_add(1, Relaxed);
        &*self.driver
    }
}

impl Driver for Counting {
    fn total(&self) -> u64 {
        self.driver.total()
    }

    fn free(&self) -> Answer<u64> {
        self.other().free()
    }

    fn reserve(&self, size: u64) -> Answer<u64> {
        self.counted(&self.calls.reserves).reserve(size)
    }

    fn create(&self, size: u64) -> Answer<Physical> {
        self.counted(&self.calls.creates).create(size)
    }

    fn release(&self, memory: Physical) -> Answer<()> {
        self.counted(&self.calls.releases).release(memory)
    }

    fn map(&self, address: u64, size: u64, memory: Physical) -> Answer<()> {
        self.counted(&self.calls.maps).map(address, size, memory)
    }

    fn allow(&self, address: u64, size: u64) -> Answer<()> {
        self.counted(&self.calls.access).allow(address, size)
    }

    fn unmap(&self, address: u64, size: u64) -> Answer<()> {
        self.counted(&self.calls.unmaps).unmap(address, size)
    }

    fn event(&self) -> Answer<Event> {
        self.event_call().event()
    }

    fn record(&self, event: Event, stream: Stream) -> Answer<()> {
        self.event_call().record(event, stream)
    }

    fn has_passed(&self, event: Event) -> Answer<bool> {
        self.event_call().has_passed(event)
    }

    fn wait(&self, event: Event) -> Answer<()> {
        self.event_call().wait(event)
    }

    fn order(&self, stream: Stream, event: Event) -> Answer<()> {
        self.event_call().order(stream, event)
    }

    fn is_capturing(&self, stream: Stream) -> Answer<bool> {
        self.other().is_capturing(stream)
    }

    fn relax(&self) -> u32 {
        self.other().relax()
    }

    fn strict_again(&self, before: u32) {
        self.other().strict_again(before);
    }

    fn finish(&self, stream: Stream) -> Answer<()> {
        self.other().finish(stream)
    }

    fn synchronize(&self) -> Answer<()> {
        self.other().synchronize()
    }

    fn fill(&self, address: u64, byte: u8, size: u64, stream: Stream) -> Answer<()> {
        self.other().fill(address, byte, size, stream)
    }

    fn read(&self, address: u64, into: &mut [u8], stream: Stream) -> Answer<()> {
        self.other().read(address, into, stream)
    }
}
