//! The pool of one device: lanes, what they share, and the way of a request through them.

use std::{
    cell::RefCell,
    sync::{
        Arc,
        atomic::Ordering::{Acquire, Relaxed},
    },
};

use whyoom_allocators::{Grant, Handle, policies::stitch};

use crate::{
    captures::Captures,
    counting::Counting,
    debug::Debug,
    driver::{Driver, Stream},
    error::PoolError,
    lane::{Lane, State, Waiting},
    lane_key::{Key, UNORDERED},
    lanes::Lanes,
    moments::{Events, Moment},
    pages::Pages,
    record,
    sync::{AtomicBool, AtomicI64, AtomicU64, Lock, MutexGuard},
};

/// The pool of one device.
pub struct DevicePool {
    /// Its number.
    pub(crate) index: u32,
    pub(crate) driver: Counting,
    pub(crate) lanes: Lanes,
    pub(crate) budget: stitch::Budget,
    pub(crate) captures: Captures,
    pub(crate) debug: Option<Debug>,
    pub(crate) events: Arc<Events>,
    /// Whoever holds this may hold several lanes; nobody waits for it with a lane in hand.
    pub(crate) growth: Lock<Reserves>,
    /// What may be reserved at most; all of the device where nothing was said.
    cap: AtomicU64,
    /// What a lane counts by itself before it tells the budget.
    worth_settling: AtomicI64,
    /// Whether lanes that take no requests may have idle pages.
    pub(crate) has_closed: AtomicBool,
    pub(crate) failures: AtomicU64,
    pub(crate) retries: AtomicU64,
}

/// Pages, behind the growth lock.
#[derive(Default)]
pub(crate) struct Reserves {
    pub(crate) pages: RefCell<Pages>,
    /// Pages that are mapped nowhere.
    pub(crate) spare: Vec<Handle>,
}

/// How a pool is made.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// Bytes of one device at most.
    pub cap: Option<u64>,
    /// Whether guards are put behind blocks, and every free is checked.
    pub debug: bool,
}

/// A lane of several may be behind by this part of the peak,
const SHARE_BEHIND: u64 = 256;
/// or by so much.
const LEAST_BEHIND: u64 = 64 << 10;

impl DevicePool {
    /// A pool that has nothing yet.
    pub fn new(index: u32, driver: Box<dyn Driver>, options: Options) -> Self {
        if let Some(cap) = options.cap {
            record::cap(index, cap);
        }
        Self {
            index,
            driver: Counting::new(driver),
            lanes: Lanes::new(),
            budget: stitch::Budget::new(),
            captures: Captures::default(),
            debug: options.debug.then(Debug::default),
            events: Arc::default(),
            growth: Lock::new(Reserves {
                pages: RefCell::new(Pages::new(options.debug)),
                spare: Vec::new(),
            }),
            cap: AtomicU64::new(options.cap.unwrap_or(u64::MAX)),
            worth_settling: AtomicI64::new(0),
            has_closed: AtomicBool::new(false),
            failures: AtomicU64::new(0),
            retries: AtomicU64::new(0),
        }
    }

    /// Memory for a stream.
    ///
    /// # Errors
    /// There is no memory left, or the driver refuses.
    #[inline]
    pub fn alloc(&self, bytes: u64, stream: Stream) -> Result<u64, PoolError> {
        let pool = if self.captures.are_open() { self.pool_of(stream) } else { 0 };
        self.alloc_in(bytes, Key { stream, pool })
    }

    /// Memory that any stream may use, until a free that waits for the device.
    ///
    /// # Errors
    /// As [`Self::alloc`].
    pub fn alloc_unordered(&self, bytes: u64) -> Result<u64, PoolError> {
        self.alloc_in(bytes, Key { stream: UNORDERED, pool: 0 })
    }

    #[inline]
    pub(crate) fn alloc_in(&self, bytes: u64, key: Key) -> Result<u64, PoolError> {
        let size = self.debug.as_ref().map_or(bytes, |_| Debug::with_guard(bytes));
        let (lane, mut state) = self.lane(key)?;
        if state.has_waiting() {
            self.collect(&mut state);
        }
        match state.policy.take(size) {
            Some(grant) => Ok(self.give(&mut state, grant, bytes)),
            None => {
                drop(state);
                self.grow(lane, key, size, bytes)
            }
        }
    }

    /// The lane of a key, locked.
    #[inline]
    pub(crate) fn lane(&self, key: Key) -> Result<(&Lane, MutexGuard<'_, State>), PoolError> {
        loop {
            let lane = self.lanes.find(key).map_or_else(|| self.new_lane(key), Ok)?;
            let state = lane.state.lock();
            // Its stream may have gone meanwhile, and it may be another's already.
            if state.key == key && !state.is_closed {
                return Ok((lane, state));
            }
        }
    }

    #[cold]
    fn new_lane(&self, key: Key) -> Result<&Lane, PoolError> {
        let make = |index| {
            let total = self.driver.total();
            let policy = match key.pool {
                0 => stitch::Lane::new(total),
                _ => stitch::Lane::private(total),
            };
            Lane::new(index, key, policy)
        };
        self.empty_closed(&mut self.growth.lock());
        let lane = self.lanes.find_or_add(key, |lane| lane.reuse(key), make);
        lane.ok_or(PoolError::TooManyStreams)
    }

    #[inline]
    pub(crate) fn give(&self, state: &mut State, grant: Grant, requested: u64) -> u64 {
        state.hold(grant, requested);
        let worth = self.worth_settling.load(Relaxed);
        if let Some(unsettled) = state.count_given(grant.size, worth) {
            self.settle(unsettled);
        }
        if record::is_on() {
            record::block_alloc(self.index, state.key, &grant, requested);
        }
        if let Some(debug) = &self.debug {
            debug.given(&self.driver, &self.captures, state, &grant, requested);
        }
        grant.address
    }

    /// The private pool that a stream's allocations belong to: that which is open, while the stream is
    /// captured.
    #[cold]
    fn pool_of(&self, stream: Stream) -> u64 {
        let captured = self.driver.is_capturing(stream).unwrap_or(false);
        if captured { self.captures.serving(stream).unwrap_or(0) } else { 0 }
    }

    /// Takes a block back. What uses it was given to `stream` before this; none where the device has
    /// finished everything.
    ///
    /// # Errors
    /// It is no block of this pool.
    #[inline]
    pub fn free(&self, address: u64, stream: Option<Stream>) -> Result<(), PoolError> {
        let lane = self.lanes.of_address(address).ok_or(PoolError::Foreign { address })?;
        let mut state = lane.state.lock();
        if let Some(debug) = &self.debug {
            debug.check(&self.driver, &self.captures, &state, address);
        }
        let held = state.let_go(address).ok_or(PoolError::NotLive { address })?;
        let users = state.take_users(address);
        let own = state.key;
        // A stream that has gone may have a namesake, which has a lane then.
        let has_namesake = || self.lanes.find(Key { stream: own.stream, pool: 0 }).is_some();
        let is_own =
            |stream: &Stream| *stream == own.stream && (state.last.is_none() || !has_namesake());
        let elsewhere = stream.filter(|stream| own.is_ordered() && !is_own(stream));
        if users.is_empty() && elsewhere.is_none() {
            self.reclaim(&mut state, address, held);
            return Ok(());
        }
        let uses = users.into_iter().map(|used| self.used_until_now(used));
        let uses = uses.chain(elsewhere.map(|stream| self.use_in_hand(stream))).collect();
        record::block_free_requested(self.index, own, address);
        state.wait_for(Waiting { address, held, uses });
        Ok(())
    }

    /// As [`Self::free`] by a stream that may be none of the pool's: memory that is bound to no stream
    /// waits for what this one was given.
    ///
    /// # Errors
    /// It is no block of this pool.
    pub fn free_from(&self, address: u64, stream: Stream) -> Result<(), PoolError> {
        let lane = self.lanes.of_address(address);
        if lane.is_some_and(|lane| !lane.state.lock().key.is_ordered()) {
            self.add_use(address, stream)?;
        }
        self.free(address, Some(stream))
    }

    /// Whether a live block starts there.
    pub fn has_block(&self, address: u64) -> bool {
        let lane = self.lanes.of_address(address);
        lane.is_some_and(|lane| lane.state.lock().block_at(address).is_some())
    }

    /// The live block that an address lies in: where it starts, and how long it is.
    pub fn block_around(&self, address: u64) -> Option<(u64, u64)> {
        let lane = self.lanes.of_address(address)?;
        let (start, held) = lane.state.lock().block_around(address)?;
        Some((start, held.size))
    }

    #[inline]
    pub(crate) fn reclaim(&self, state: &mut State, address: u64, held: crate::lane::Held) {
        // Told before the block can be given again: readers see the free first.
        if record::is_on() {
            record::block_free(self.index, state.key, address);
        }
        let size = state.policy.free(held.block);
        let worth = self.worth_settling.load(Relaxed);
        if let Some(unsettled) = state.count_freed(size, worth) {
            self.settle(unsettled);
        }
    }

    /// Tells the budget what a lane has counted by itself. Where there is one lane it does so with every
    /// allocation, and peaks are exact; of several, each may be behind by a small share of the peak, so
    /// that threads do not fight over one cache line.
    fn settle(&self, (more, requests): (i64, u64)) {
        self.budget.settle(more, requests);
        if self.lanes.count() > 1 {
            let worth = (self.budget.peak_live() / SHARE_BEHIND).max(LEAST_BEHIND) as i64;
            if self.worth_settling.load(Relaxed) != worth {
                self.worth_settling.store(worth, Relaxed);
            }
        }
    }

    /// Tells the budget everything that a lane has counted.
    pub(crate) fn settle_all(&self, state: &mut State) {
        self.settle(state.take_unsettled());
    }

    /// This moment on a stream.
    pub(crate) fn mark(&self, stream: Stream) -> Arc<Moment> {
        Moment::now(&self.driver, &self.events, stream)
    }

    /// A graph may be captured somewhere, of this device or another: the driver is told that our calls do
    /// not disturb it.
    pub(crate) fn relaxed(&self) -> Relaxation<'_> {
        Relaxation(&self.driver, self.driver.relax())
    }

    /// Whether so much more may be reserved.
    pub(crate) fn may_have(&self, more: u64) -> bool {
        self.budget.reserved().saturating_add(more) <= self.cap.load(Relaxed)
    }

    /// Sets what may be reserved at most.
    pub fn set_cap(&self, cap: Option<u64>) {
        self.cap.store(cap.unwrap_or(u64::MAX), Relaxed);
        record::cap(self.index, cap.unwrap_or(0));
    }

    /// What may be reserved at most, where there is a cap.
    pub fn cap(&self) -> Option<u64> {
        Some(self.cap.load(Acquire)).filter(|cap| *cap != u64::MAX)
    }

    /// The stream is about to be destroyed.
    pub fn end_stream(&self, stream: Stream) {
        let _relaxed = self.relaxed();
        for lane in self.lanes.all() {
            let mut state = lane.state.lock();
            state.end_uses(stream, || self.mark(stream));
            if state.key.stream == stream && state.last.is_none() {
                state.last = Some(self.mark(stream));
                self.close(lane, &mut state);
            }
        }
    }
}

/// The driver is relaxed as long as this lives.
pub(crate) struct Relaxation<'a>(&'a Counting, u32);

impl Drop for Relaxation<'_> {
    fn drop(&mut self) {
        self.0.strict_again(self.1);
    }
}
