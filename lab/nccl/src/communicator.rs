//! The communicator: a rank among ranks, and the memory that NCCL would have taken for it.

use std::{
    collections::BTreeSet,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use cudarc::driver::sys::CUcontext;

use crate::{
    buffers::Buffers,
    configuration::Configuration,
    driver::Driver,
    factors::Factors,
    membership::Membership,
    memory::Holdings,
    neighbours::{self, Connection},
    status::Failure,
    topology,
};

/// The connections of a rank, which communicators that were split off may share.
struct Connections {
    made: BTreeSet<Connection>,
    holdings: Holdings,
}

/// What stands behind an `ncclComm_t`.
pub(crate) struct Communicator {
    /// Alike on all its ranks, and on no other communicator.
    pub identity: u64,
    pub rank: u32,
    pub ranks: u32,
    /// How often it was split: all ranks do that in the same order.
    splits: AtomicU64,
    /// How often it grew, on all ranks alike.
    grown: AtomicU64,
    pub device: i32,
    pub context: CUcontext,
    /// Reductions that the caller made.
    pub factors: Factors,
    /// How its ranks exchange messages. A single rank has nobody to exchange any with.
    membership: Option<Membership>,
    driver: &'static Driver,
    buffers: Buffers,
    own: Mutex<Holdings>,
    connections: Arc<Mutex<Connections>>,
}

/// A place among ranks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    pub identity: u64,
    pub rank: u32,
    pub ranks: u32,
}

impl Communicator {
    /// Makes one on the current device, and takes what NCCL takes at that moment.
    pub(crate) fn create(
        place: Place,
        configuration: Configuration,
        parent: Option<&Self>,
    ) -> Result<CommunicatorPointer, Failure> {
        if place.rank >= place.ranks {
            return Err(Failure::InvalidArgument);
        }
        let driver = Driver::get()?;
        let (context, device) = (driver.context()?, driver.device()?);
        let links = topology::links(driver.architecture(device)?, place.ranks);
        let maps = configuration.maps(links.nvlink);
        let shared = parent.filter(|_| configuration.shares).map(|it| Arc::clone(&it.connections));
        let shares = shared.is_some();
        let connections = || Connections {
            made: BTreeSet::new(),
            holdings: Holdings::new(driver, context, maps),
        };
        let communicator = Self {
            identity: place.identity,
            rank: place.rank,
            ranks: place.ranks,
            splits: AtomicU64::new(0),
            grown: AtomicU64::new(0),
            device,
            context,
            factors: Factors::default(),
            membership: (place.ranks > 1).then(|| membership(place)).flatten(),
            driver,
            buffers: Buffers::new(links, configuration),
            own: Mutex::new(Holdings::new(driver, context, maps)),
            connections: shared.unwrap_or_else(|| Arc::new(Mutex::new(connections()))),
        };
        // On failure the value is dropped, and gives back what it has.
        locked(&communicator.own).take(communicator.buffers.bookkeeping(shares))?;
        if !shares && !configuration.connects_late(links.nvlink) {
            communicator.connect(&neighbours::ring(place.rank, place.ranks))?;
            communicator.connect(&neighbours::tree(place.rank, place.ranks))?;
            locked(&communicator.own).take([communicator.buffers.network()])?;
        }
        Ok(CommunicatorPointer(Box::into_raw(Box::new(communicator))))
    }

    /// Makes what is missing of some connections.
    pub(crate) fn connect(&self, wanted: &[Connection]) -> Result<(), Failure> {
        let mut connections = locked(&self.connections);
        for &connection in wanted {
            if connections.made.contains(&connection) {
                continue;
            }
            let (channels, bytes) = match connection {
                Connection::Send(_) => (self.buffers.channels, self.buffers.send),
                Connection::Receive(_) => (self.buffers.channels, self.buffers.receive),
                Connection::PairSend(_) => (self.buffers.channels_to_peer, self.buffers.send),
                Connection::PairReceive(_) => (self.buffers.channels_to_peer, self.buffers.receive),
            };
            connections.holdings.take(std::iter::repeat_n(bytes, channels as usize))?;
            connections.made.insert(connection);
        }
        Ok(())
    }

    /// The driver that its work is enqueued with.
    pub(crate) fn driver(&self) -> &'static Driver {
        self.driver
    }

    /// How its ranks exchange messages; nothing where they cannot.
    pub(crate) fn membership(&self) -> Option<&Membership> {
        self.membership.as_ref()
    }

    /// The number of the next split.
    pub(crate) fn next_split(&self) -> u64 {
        self.splits.fetch_add(1, Ordering::Relaxed)
    }

    /// How often it grew before now.
    pub(crate) fn grown(&self) -> u64 {
        self.grown.load(Ordering::Relaxed)
    }

    /// Grows once more; how often it did before.
    pub(crate) fn grow(&self) -> u64 {
        self.grown.fetch_add(1, Ordering::Relaxed)
    }

    /// Does something to all memory that it holds or shares.
    pub(crate) fn each_holding<E>(
        &self,
        mut action: impl FnMut(&mut Holdings) -> Result<(), E>,
    ) -> Result<(), E> {
        action(&mut locked(&self.own))?;
        action(&mut locked(&self.connections).holdings)
    }
}

/// Makes a rank known to the others. A user who may not write to the lab's folder works without.
fn membership(place: Place) -> Option<Membership> {
    let made = Membership::new(place.identity, place.rank);
    if let Err(error) = &made {
        eprintln!(
            "whyoom lab: ranks cannot exchange data ({error}); each gets what it would get if all \
             held the same"
        );
    }
    made.ok()
}

/// A lock whose holder cannot have left anything half done.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// An `ncclComm_t` as callers pass it.
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
pub struct CommunicatorPointer(*mut Communicator);

impl CommunicatorPointer {
    /// What a rank gets that takes no part in a new communicator.
    pub(crate) const NONE: Self = Self(std::ptr::null_mut());

    /// The communicator.
    pub(crate) fn get<'call>(self) -> Result<&'call Communicator, Failure> {
        // SAFETY: null, or by the contract made by one of the functions of `creation` and not
        // destroyed before the call returns; it is only ever borrowed shared.
        unsafe { self.0.as_ref() }.ok_or(Failure::InvalidArgument)
    }

    /// Ends the communicator and gives its memory back.
    pub(crate) fn destroy(self) -> Result<(), Failure> {
        if let Some(membership) = self.get()?.membership() {
            // Threads that wait in it for other ranks return first.
            membership.leave();
        }
        // SAFETY: not null, so by the contract from `create` and not destroyed before.
        drop(unsafe { Box::from_raw(self.0) });
        Ok(())
    }
}
