//! Physical pages, and where they are mapped.
//!
//! A page that moves is mapped at its new place at once. Its old mapping stays until everything that
//! its old stream was given has passed, so that nobody waits for it: for a while one page lies behind
//! two addresses, of which only the new one is handed out.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use foldhash::fast::FixedState;
use whyoom_allocators::{Handle, PAGE};

use crate::{
    driver::{Answer, Driver, Physical, Stream},
    moments::Moment,
    refusal::Refusal,
};

/// A physical page.
struct Page {
    memory: Physical,
    /// The last use at an address that it has left, and by which owner of a lane.
    left: Option<(u64, Arc<Moment>)>,
}

/// All physical pages of a device.
#[derive(Default)]
pub(crate) struct Pages {
    table: Vec<Option<Page>>,
    unused: Vec<u32>,
    mapped: HashMap<u64, Handle, FixedState>,
    /// Addresses that a page is meant for, and the device had no room to map it at.
    unmapped: HashSet<u64, FixedState>,
    /// Old mappings by address, and what they wait for.
    leaving: HashMap<u64, Arc<Moment>, FixedState>,
    /// How often the host had to wait for an event.
    pub(crate) waits: u64,
    /// Old mappings stay until their address is wanted: what a stream reads that was not told of reads old data, as with
    /// other allocators, and does not fault. For the debug mode.
    keeps_old: bool,
}

impl Pages {
    /// None yet.
    pub(crate) fn new(keeps_old: bool) -> Self {
        Self { keeps_old, ..Self::default() }
    }

    /// A new page from the device.
    pub(crate) fn create(&mut self, driver: &dyn Driver) -> Answer<Handle> {
        let memory = driver.create(PAGE)?;
        let page = Some(Page { memory, left: None });
        let index = self.unused.pop().unwrap_or_else(|| {
            self.table.push(None);
            self.table.len() as u32 - 1
        });
        self.table[index as usize] = page;
        Ok(Handle(index))
    }

    /// Gives a page back. An old mapping keeps its memory until it has gone too.
    pub(crate) fn release(&mut self, handle: Handle, driver: &dyn Driver) {
        if let Some(page) = self.table[handle.0 as usize].take() {
            self.unused.push(handle.0);
            let _ = driver.release(page.memory);
        }
    }

    /// Whether nothing runs any more that used the page where it was.
    pub(crate) fn is_done_with(&self, handle: Handle, driver: &dyn Driver) -> bool {
        let page = self.table[handle.0 as usize].as_ref();
        let left = page.and_then(|page| page.left.as_ref());
        left.is_none_or(|(_, moment)| moment.has_passed(driver))
    }

    /// Puts a page behind an address, for use by a lane with that stream; none where it is bound to none.
    pub(crate) fn map(
        &mut self,
        address: u64,
        handle: Handle,
        (owner, stream): (u64, Option<Stream>),
        driver: &dyn Driver,
    ) -> Answer<()> {
        self.vacate(address, driver)?;
        let page = self.table[handle.0 as usize].as_mut().ok_or(Refusal(1))?;
        driver.map(address, PAGE, page.memory)?;
        if let Some((before, moment)) = page.left.take()
            && before != owner
        {
            match stream {
                Some(stream) => moment.order(driver, stream),
                None => moment.wait(driver),
            }
        }
        self.mapped.insert(address, handle);
        Ok(())
    }

    /// Notes that a page is meant for an address where the device cannot map it.
    pub(crate) fn leave_unmapped(&mut self, address: u64, handle: Handle) {
        self.mapped.insert(address, handle);
        self.unmapped.insert(address);
    }

    /// The page at an address is used there no more by that lane from that moment on; none where
    /// nothing can run that uses it.
    pub(crate) fn unmap(
        &mut self,
        address: u64,
        last: Option<(u64, &Arc<Moment>)>,
        driver: &dyn Driver,
    ) -> Answer<()> {
        let handle = self.mapped.remove(&address).ok_or(Refusal(1))?;
        if self.unmapped.remove(&address) {
            return Ok(());
        }
        let Some((owner, moment)) = last else { return driver.unmap(address, PAGE) };
        self.leaving.insert(address, Arc::clone(moment));
        if let Some(page) = self.table[handle.0 as usize].as_mut() {
            page.left = Some((owner, Arc::clone(moment)));
        }
        Ok(())
    }

    /// Takes an old mapping away that stands where a new one is wanted. Whoever needs an address again
    /// before its last use has passed is the one who has to wait.
    fn vacate(&mut self, address: u64, driver: &dyn Driver) -> Answer<()> {
        let Some(moment) = self.leaving.remove(&address) else { return Ok(()) };
        if !moment.has_passed(driver) {
            self.waits += 1;
            moment.wait(driver);
        }
        driver.unmap(address, PAGE)
    }

    /// Takes away the old mappings whose last use has passed; all, where `wait` says so.
    pub(crate) fn sweep(&mut self, wait: bool, driver: &dyn Driver) {
        if self.keeps_old && !wait {
            return;
        }
        self.leaving.retain(|address, moment| {
            if wait && !moment.has_passed(driver) {
                self.waits += 1;
                moment.wait(driver);
            }
            let stays = !moment.has_passed(driver);
            if !stays {
                let _ = driver.unmap(*address, PAGE);
            }
            stays
        });
    }

    /// Unmaps and gives back everything; how many bytes that were. Nothing runs that uses it.
    pub(crate) fn forget(&mut self, driver: &dyn Driver) -> u64 {
        let unmapped = std::mem::take(&mut self.unmapped);
        for address in self
            .mapped
            .drain()
            .map(|(address, _)| address)
            .filter(|address| !unmapped.contains(address))
            .chain(self.leaving.drain().map(|(address, _)| address))
        {
            let _ = driver.unmap(address, PAGE);
        }
        let mut released = 0;
        for page in self.table.drain(..).flatten() {
            let _ = driver.release(page.memory);
            released += PAGE;
        }
        self.unused.clear();
        released
    }
}
