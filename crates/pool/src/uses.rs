//! Blocks that several streams use, and those that were freed while others still do.

use std::sync::Arc;

use crate::{
    device::DevicePool,
    driver::{Driver, Stream},
    error::PoolError,
    lane::{State, Use, Waiting},
    moments::Moment,
};

/// Blocks that wait for other streams and are asked after in vain by one request, at most.
const AT_ONCE: usize = 4;

impl DevicePool {
    /// Another stream uses a block too: its free waits for what that stream was given until then.
    ///
    /// # Errors
    /// It is no block of this pool.
    pub fn add_use(&self, address: u64, stream: Stream) -> Result<(), PoolError> {
        let lane = self.lanes.of_address(address).ok_or(PoolError::Foreign { address })?;
        let mut state = lane.state.lock();
        state.block_at(address).ok_or(PoolError::NotLive { address })?;
        if stream != state.key.stream {
            state.add_user(address, stream);
        }
        Ok(())
    }

    /// A use that ends here, as far as that can be marked.
    #[cold]
    pub(crate) fn used_until_now(&self, used: Use) -> Use {
        match used {
            Use::Open(stream) => {
                self.mark_outside_captures(stream).map_or(Use::Open(stream), Use::Until)
            }
            until => until,
        }
    }

    /// As [`Self::used_until_now`], by a stream that the caller has in hand: it does not begin to be
    /// captured meanwhile.
    #[cold]
    pub(crate) fn use_in_hand(&self, stream: Stream) -> Use {
        let _relaxed = self.relaxed();
        if self.captures.are_open() && self.driver.is_capturing(stream).unwrap_or(true) {
            return Use::Open(stream);
        }
        Use::Until(self.mark(stream))
    }

    /// This moment on a stream that may be any; none while a graph is captured, perhaps from it.
    pub(crate) fn mark_outside_captures(&self, stream: Stream) -> Option<Arc<Moment>> {
        // A capture may also begin without a word to the pool.
        let mark = || {
            let captured = self.driver.is_capturing(stream).unwrap_or(true);
            (!captured).then(|| self.mark(stream))
        };
        self.captures.if_none_open(mark).flatten()
    }

    /// Blocks that no stream uses any more become free.
    #[cold]
    pub(crate) fn collect(&self, state: &mut State) {
        let _relaxed = self.relaxed();
        let mark = |stream| self.mark_outside_captures(stream);
        let passed = state.passed(AT_ONCE, |used| used.has_passed(&self.driver, mark));
        for Waiting { address, held, .. } in passed {
            self.reclaim(state, address, held);
        }
    }

    /// Waits for the other streams that use blocks which were freed, and takes those back. Whether
    /// there were any.
    pub(crate) fn wait_for_blocks(&self) -> bool {
        let mut any = false;
        for lane in self.lanes.all() {
            let mut state = lane.state.lock();
            let mark = |stream| self.mark_outside_captures(stream);
            let passed = state.passed(usize::MAX, |used| used.wait(&self.driver, mark));
            any |= !passed.is_empty();
            for Waiting { address, held, .. } in passed {
                self.reclaim(&mut state, address, held);
            }
        }
        any
    }
}
