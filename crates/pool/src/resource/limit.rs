//! At most so many bytes, whatever the device has.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::driver::Stream;
use whyoom_trace::{Address, Bytes};

use super::{Resource, ResourceError};

/// Refuses what would pass a limit on the bytes that were asked for and not yet given back.
///
/// A request takes its share before the resource below is asked and gives it back after that has taken the
/// memory: the limit is never passed, not for a moment, by any number of threads.
#[derive(Debug)]
pub struct Limit<R> {
    below: R,
    limit: u64,
    allocated: AtomicU64,
}

impl<R> Limit<R> {
    /// At most `limit` bytes of what `below` gives. What it has given already does not count.
    pub fn new(below: R, limit: u64) -> Self {
        Self { below, limit, allocated: AtomicU64::new(0) }
    }

    /// The most that is ever given out.
    pub fn limit(&self) -> u64 {
        self.limit
    }

    /// What is given out, with what other threads are asking for now.
    pub fn allocated(&self) -> u64 {
        self.allocated.load(Ordering::Relaxed)
    }

    /// What this stands on.
    pub fn below(&self) -> &R {
        &self.below
    }

    fn take(&self, bytes: u64) -> Result<(), ResourceError> {
        // Not add, look and take off again: of two threads that do so at once, both could be refused
        // where there was room for one.
        let fits =
            |allocated: u64| allocated.checked_add(bytes).filter(|after| *after <= self.limit);
        match self.allocated.fetch_update(Ordering::Relaxed, Ordering::Relaxed, fits) {
            Ok(_) => Ok(()),
            Err(allocated) => Err(ResourceError::OverLimit {
                requested: Bytes(bytes),
                allocated: Bytes(allocated),
                limit: Bytes(self.limit),
            }),
        }
    }

    fn give_back(&self, bytes: u64) {
        self.allocated.fetch_sub(bytes, Ordering::Relaxed);
    }
}

impl<R: Resource> Resource for Limit<R> {
    fn allocate(&self, bytes: u64, stream: Stream) -> Result<Address, ResourceError> {
        self.take(bytes)?;
        self.below.allocate(bytes, stream).inspect_err(|_| self.give_back(bytes))
    }

    fn deallocate(
        &self,
        address: Address,
        bytes: u64,
        stream: Stream,
    ) -> Result<(), ResourceError> {
        self.below.deallocate(address, bytes, stream)?;
        self.give_back(bytes);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::fake::Fake;
    use super::*;

    const STREAM: Stream = Stream(0);

    #[test]
    fn a_failure_below_gives_its_share_back() {
        let limit = Limit::new(Fake::new(100), 1000);
        assert!(limit.allocate(101, STREAM).unwrap_err().is_out_of_memory());
        assert_eq!(limit.allocated(), 0);
        assert!(limit.allocate(100, STREAM).is_ok());
    }

    #[test]
    fn what_was_never_given_out_gives_nothing_back() {
        let limit = Limit::new(Fake::new(100), 100);
        limit.allocate(60, STREAM).unwrap();
        assert!(limit.deallocate(Address(0x999), 60, STREAM).is_err());
        assert_eq!(limit.allocated(), 60);
    }

    #[test]
    fn a_size_beyond_all_counting_is_refused() {
        let limit = Limit::new(Fake::new(100), u64::MAX);
        limit.allocate(60, STREAM).unwrap();
        assert!(limit.allocate(u64::MAX, STREAM).is_err());
        assert_eq!(limit.allocated(), 60);
    }

    /// Eight threads ask for one eighth each, again and again: none is ever refused, and one byte more is.
    #[test]
    fn threads_get_exactly_the_limit() {
        let limit = Limit::new(Fake::new(u64::MAX), 800);
        let barrier = std::sync::Barrier::new(8);
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for _ in 0..300 {
                        let mine = limit.allocate(100, STREAM).unwrap();
                        barrier.wait();
                        assert_eq!((limit.allocated(), limit.below().live()), (800, 800));
                        assert!(limit.allocate(1, STREAM).is_err());
                        barrier.wait();
                        limit.deallocate(mine, 100, STREAM).unwrap();
                        barrier.wait();
                    }
                });
            }
        });
        assert_eq!(limit.allocated(), 0);
    }
}
