//! One stream's blocks in one pool: the policy's lane behind a lock of its own.

use std::{
    collections::{HashMap, VecDeque},
    mem,
    sync::Arc,
};

use foldhash::fast::FixedState;
use whyoom_allocators::{BlockId, Grant, PAGE, policies::stitch};

use crate::{
    driver::{Driver, Stream},
    lane_key::Key,
    moments::Moment,
    sync::Lock,
    tally::Tally,
};

/// Lanes of one device at most: streams times private pools. A model checker makes thousands of tables.
pub(crate) const MOST: usize = if cfg!(shuttle) { 16 } else { 1024 };
/// Bytes that came back and of which the budget is told at once.
const FREES_WORTH_TELLING: i64 = 1 << 20;

/// A lane.
pub(crate) struct Lane {
    /// Its place in the table.
    pub(crate) index: usize,
    /// Everything else.
    pub(crate) state: Lock<State>,
}

/// What a lane's lock guards.
pub(crate) struct State {
    /// Whose requests it serves.
    pub(crate) key: Key,
    /// A number that no lane has or had before it served this key: pages remember whose they were.
    pub(crate) owner: u64,
    /// Whether it takes no requests any more.
    pub(crate) is_closed: bool,
    /// The last moment of its stream, where that has gone.
    pub(crate) last: Option<Arc<Moment>>,
    /// Whether graphs had this memory that are gone now. They may have run on any stream, and may run
    /// still.
    pub(crate) was_in_graphs: bool,
    pub(crate) policy: stitch::Lane,
    pub(crate) tally: Tally,
    /// What the device's budget does not know yet: bytes that are live, or no more, and requests.
    unsettled: (i64, u64),
    /// Live blocks by address. They are addresses of the device, and nobody outside chooses them.
    held: HashMap<u64, Held, FixedState>,
    /// Uses of blocks by streams beside the lane's own.
    users: HashMap<u64, Vec<Use>, FixedState>,
    /// Blocks that were freed while other streams use them.
    waiting: VecDeque<Waiting>,
}

/// A block that the program has.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Held {
    pub(crate) block: BlockId,
    pub(crate) size: u64,
    pub(crate) requested: u64,
}

/// A block that was freed, and what must pass before it is free.
pub(crate) struct Waiting {
    pub(crate) address: u64,
    pub(crate) held: Held,
    pub(crate) uses: Vec<Use>,
}

/// A use of a block by another stream.
pub(crate) enum Use {
    /// Up to here.
    Until(Arc<Moment>),
    /// Its end is not marked yet: the block was not given back, or a graph was captured then, perhaps
    /// from this stream.
    Open(Stream),
}

impl Lane {
    pub(crate) fn new(index: usize, key: Key, policy: stitch::Lane) -> Self {
        let state = State {
            key,
            owner: index as u64,
            is_closed: false,
            last: None,
            was_in_graphs: false,
            policy,
            tally: Tally::default(),
            unsettled: (0, 0),
            held: HashMap::default(),
            users: HashMap::default(),
            waiting: VecDeque::new(),
        };
        Self { index, state: Lock::new(state) }
    }

    /// Serves another key from now on, if nothing of the former one is left; whether it does.
    pub(crate) fn reuse(&self, key: Key) -> bool {
        // Whoever has it in hand may be waiting for the table, which is locked here.
        let Some(mut state) = self.state.try_lock() else { return false };
        let is_reusable = state.is_closed && state.is_empty();
        if is_reusable {
            (state.key, state.is_closed, state.last) = (key, false, None);
            state.was_in_graphs = false;
            state.owner += MOST as u64;
            if key.pool == 0 { state.policy.retire() } else { state.policy.devote() }
        }
        is_reusable
    }
}

impl State {
    /// Whether no memory is mapped here, and no block is known.
    pub(crate) fn is_empty(&self) -> bool {
        self.policy.mapped() == 0 && self.held.is_empty() && self.waiting.is_empty()
    }

    /// Whether enough is free here that there may be whole pages of it.
    pub(crate) fn may_have_idle_pages(&self) -> bool {
        let live: u64 = self.tally.classes.iter().map(|class| class.bytes).sum();
        self.policy.mapped().saturating_sub(live + self.tally.waiting) >= PAGE
    }

    /// Counts a block that was given. Where that is worth telling the budget of, that comes back.
    #[inline]
    pub(crate) fn count_given(&mut self, size: u64, worth: i64) -> Option<(i64, u64)> {
        self.unsettled.0 += size as i64;
        self.unsettled.1 += 1;
        (self.unsettled.0 >= worth).then(|| self.take_unsettled())
    }

    /// Counts a block that came back, likewise. It can wait: no peak is reached by it.
    #[inline]
    pub(crate) fn count_freed(&mut self, size: u64, worth: i64) -> Option<(i64, u64)> {
        self.unsettled.0 -= size as i64;
        (self.unsettled.0 < -worth.max(FREES_WORTH_TELLING)).then(|| self.take_unsettled())
    }

    /// What the budget does not know yet; it is told now.
    pub(crate) fn take_unsettled(&mut self) -> (i64, u64) {
        mem::take(&mut self.unsettled)
    }

    /// Notes a block that the program gets.
    #[inline]
    pub(crate) fn hold(&mut self, grant: Grant, requested: u64) {
        let Grant { block, address, size } = grant;
        self.held.insert(address, Held { block, size, requested });
        self.tally.given(size, requested);
    }

    /// A block that the program gives back; nothing where it has none there.
    #[inline]
    pub(crate) fn let_go(&mut self, address: u64) -> Option<Held> {
        let held = self.held.remove(&address)?;
        self.tally.taken_back(held.size, held.requested);
        Some(held)
    }

    /// A block that the program has.
    pub(crate) fn block_at(&self, address: u64) -> Option<Held> {
        self.held.get(&address).copied()
    }

    /// The block that an address lies in: where it starts, and what it is.
    pub(crate) fn block_around(&self, address: u64) -> Option<(u64, Held)> {
        let around =
            |(start, held): &(&u64, &Held)| **start <= address && address < **start + held.size;
        self.held.iter().find(around).map(|(start, held)| (*start, *held))
    }

    /// Another stream uses a block too.
    pub(crate) fn add_user(&mut self, address: u64, stream: Stream) {
        let users = self.users.entry(address).or_default();
        if !users.iter().any(|used| used.is_open_by(stream)) {
            users.push(Use::Open(stream));
        }
    }

    /// The uses of a block which is given back.
    #[inline]
    pub(crate) fn take_users(&mut self, address: u64) -> Vec<Use> {
        if self.users.is_empty() {
            return Vec::new();
        }
        self.users.remove(&address).unwrap_or_default()
    }

    /// A stream goes after this moment: whatever it uses, it uses until then.
    pub(crate) fn end_uses(&mut self, stream: Stream, mark: impl Fn() -> Arc<Moment>) {
        let waiting = self.waiting.iter_mut().flat_map(|waiting| &mut waiting.uses);
        for used in self.users.values_mut().flatten().chain(waiting) {
            if used.is_open_by(stream) {
                *used = Use::Until(mark());
            }
        }
    }

    /// A block is free once these uses have passed.
    pub(crate) fn wait_for(&mut self, waiting: Waiting) {
        self.tally.waiting += waiting.held.size;
        self.waiting.push_back(waiting);
    }

    #[inline]
    pub(crate) fn has_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Blocks that wait, for those who list them.
    pub(crate) fn waiting(&self) -> &VecDeque<Waiting> {
        &self.waiting
    }

    /// Nothing is held any more; how many bytes were.
    pub(crate) fn forget(&mut self) -> u64 {
        let held: u64 = self.held.values().map(|held| held.size).sum();
        let live = held + self.tally.waiting;
        self.held.clear();
        self.users.clear();
        self.waiting.clear();
        self.tally = Tally::default();
        live
    }

    /// Blocks whose uses have passed, by what `has_passed` says of each. Those that wait longest are
    /// asked first; the search ends after so many that still wait, which go to the end of the line.
    pub(crate) fn passed(
        &mut self,
        mut in_vain: usize,
        mut has_passed: impl FnMut(&mut Use) -> bool,
    ) -> Vec<Waiting> {
        let mut passed = Vec::new();
        for _ in 0..self.waiting.len() {
            let Some(mut waiting) = self.waiting.pop_front() else { break };
            waiting.uses.retain_mut(|used| !has_passed(used));
            if waiting.uses.is_empty() {
                self.tally.waiting -= waiting.held.size;
                passed.push(waiting);
                continue;
            }
            self.waiting.push_back(waiting);
            in_vain -= 1;
            if in_vain == 0 {
                break;
            }
        }
        passed
    }
}

impl Use {
    fn is_open_by(&self, stream: Stream) -> bool {
        matches!(self, Self::Open(by) if *by == stream)
    }

    /// Whether it has passed; one that is open is marked as soon as that is possible.
    pub(crate) fn has_passed(
        &mut self,
        driver: &dyn Driver,
        mark: impl FnOnce(Stream) -> Option<Arc<Moment>>,
    ) -> bool {
        self.moment(mark).is_some_and(|moment| moment.has_passed(driver))
    }

    /// Waits until it has passed; only one that stays open has not then.
    pub(crate) fn wait(
        &mut self,
        driver: &dyn Driver,
        mark: impl FnOnce(Stream) -> Option<Arc<Moment>>,
    ) -> bool {
        let moment = self.moment(mark);
        moment.inspect(|moment| moment.wait(driver)).is_some()
    }

    fn moment(&mut self, mark: impl FnOnce(Stream) -> Option<Arc<Moment>>) -> Option<&Arc<Moment>> {
        if let Self::Open(stream) = *self {
            *self = Self::Until(mark(stream)?);
        }
        match self {
            Self::Until(moment) => Some(moment),
            Self::Open(_) => None,
        }
    }
}
