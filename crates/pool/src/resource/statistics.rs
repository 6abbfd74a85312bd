//! How much, how much at most, how much in all.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::driver::Stream;
use whyoom_trace::Address;

use super::{Resource, ResourceError};

/// Counts bytes and allocations on their way through.
///
/// An allocation is counted when it has been made and a free before it is: what is shown is never more than
/// there was, also while other threads allocate.
#[derive(Debug)]
pub struct Statistics<R> {
    below: R,
    bytes: Tally,
    allocations: Tally,
    failures: AtomicU64,
}

/// One figure: what it is, the most that it was, and the sum of all that was added.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counter {
    /// What it is now.
    pub current: u64,
    /// The most that it was.
    pub peak: u64,
    /// The sum of what was added.
    pub total: u64,
}

impl<R> Statistics<R> {
    /// Counts what goes through to `below` from now on.
    pub fn new(below: R) -> Self {
        let (bytes, allocations) = (Tally::default(), Tally::default());
        Self { below, bytes, allocations, failures: AtomicU64::new(0) }
    }

    /// The bytes that were asked for.
    pub fn bytes(&self) -> Counter {
        self.bytes.read()
    }

    /// The number of allocations.
    pub fn allocations(&self) -> Counter {
        self.allocations.read()
    }

    /// How many requests were refused.
    pub fn failures(&self) -> u64 {
        self.failures.load(Ordering::Relaxed)
    }

    /// Lets the peaks start from what is there now.
    pub fn reset_peaks(&self) {
        self.bytes.reset_peak();
        self.allocations.reset_peak();
    }

    /// What this stands on.
    pub fn below(&self) -> &R {
        &self.below
    }
}

impl<R: Resource> Resource for Statistics<R> {
    fn allocate(&self, bytes: u64, stream: Stream) -> Result<Address, ResourceError> {
        let address = self.below.allocate(bytes, stream).inspect_err(|_| {
            self.failures.fetch_add(1, Ordering::Relaxed);
        })?;
        self.bytes.add(bytes);
        self.allocations.add(1);
        Ok(address)
    }

    fn deallocate(
        &self,
        address: Address,
        bytes: u64,
        stream: Stream,
    ) -> Result<(), ResourceError> {
        self.bytes.take(bytes);
        self.allocations.take(1);
        self.below.deallocate(address, bytes, stream).inspect_err(|_| {
            self.bytes.restore(bytes);
            self.allocations.restore(1);
        })
    }
}

/// A [`Counter`] that threads count with.
#[derive(Debug, Default)]
struct Tally {
    current: AtomicU64,
    peak: AtomicU64,
    total: AtomicU64,
}

impl Tally {
    fn add(&self, amount: u64) {
        let before = self.current.fetch_add(amount, Ordering::Relaxed);
        self.peak.fetch_max(before.wrapping_add(amount), Ordering::Relaxed);
        self.total.fetch_add(amount, Ordering::Relaxed);
    }

    fn take(&self, amount: u64) {
        self.current.fetch_sub(amount, Ordering::Relaxed);
    }

    /// Undoes [`take`](Self::take): nothing was added.
    fn restore(&self, amount: u64) {
        self.current.fetch_add(amount, Ordering::Relaxed);
    }

    fn reset_peak(&self) {
        self.peak.store(self.current.load(Ordering::Relaxed), Ordering::Relaxed);
    }

    fn read(&self) -> Counter {
        Counter {
            current: self.current.load(Ordering::Relaxed),
            peak: self.peak.load(Ordering::Relaxed),
            total: self.total.load(Ordering::Relaxed),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::fake::Fake;
    use super::*;

    const STREAM: Stream = Stream(7);

    #[test]
    fn current_peak_and_total() {
        let counted = Statistics::new(Fake::new(100));
        let (a, b) = (counted.allocate(10, STREAM).unwrap(), counted.allocate(20, STREAM).unwrap());
        counted.deallocate(a, 10, STREAM).unwrap();
        counted.allocate(5, STREAM).unwrap();
        assert!(counted.allocate(100, STREAM).is_err());
        assert_eq!(counted.bytes(), Counter { current: 25, peak: 30, total: 35 });
        assert_eq!(counted.allocations(), Counter { current: 2, peak: 2, total: 3 });
        assert_eq!(counted.failures(), 1);

        counted.deallocate(b, 20, STREAM).unwrap();
        counted.reset_peaks();
        assert_eq!(counted.bytes(), Counter { current: 5, peak: 5, total: 35 });
    }

    #[test]
    fn a_free_that_fails_changes_nothing() {
        let counted = Statistics::new(Fake::new(100));
        counted.allocate(10, STREAM).unwrap();
        let before = (counted.bytes(), counted.allocations());
        assert!(counted.deallocate(Address(1), 10, STREAM).is_err());
        assert_eq!((counted.bytes(), counted.allocations()), before);
    }

    /// What threads hold all at once is the peak, to the byte.
    #[test]
    fn threads_are_all_counted() {
        let counted = Statistics::new(Fake::new(u64::MAX));
        let all_hold = std::sync::Barrier::new(8);
        std::thread::scope(|scope| {
            for thread in 1..=8 {
                let (counted, all_hold) = (&counted, &all_hold);
                scope.spawn(move || {
                    for _ in 0..200 {
                        let held = counted.allocate(thread, STREAM).unwrap();
                        all_hold.wait();
                        counted.deallocate(held, thread, STREAM).unwrap();
                        all_hold.wait();
                    }
                });
            }
        });
        assert_eq!(counted.bytes(), Counter { current: 0, peak: 36, total: 36 * 200 });
        assert_eq!(counted.allocations(), Counter { current: 0, peak: 8, total: 1600 });
    }
}
