//! How a failed allocation waits for the watcher, so that the machine is sampled at the moment of the failure and not
//! after it.
//!
//! A word in the part's file: 0 where nobody has come yet; an odd number while somebody is there and ready;
//! an even one while nobody is waited for. Each change of it says that a look is over.

use std::{
    sync::atomic::{AtomicU32, Ordering},
    time::{Duration, Instant},
};

use rustix::thread::futex::{self, Flags, Timespec};

/// Nobody is waited for.
const NOBODY: u32 = 2;
/// Who looks finds a new process within this.
const LONGEST_TO_COME: Duration = Duration::from_millis(150);
/// A look takes some ms. Who takes longer than this is not waited for: they may have been killed.
const LONGEST_LOOK: Duration = Duration::from_secs(1);

/// Waits until who was ready when `before` was read has looked.
pub(crate) fn wait(word: &AtomicU32, before: u32) {
    let ready = if before == 0 { wait_for_change(word, 0, LONGEST_TO_COME) } else { before };
    if !ready.is_multiple_of(2) {
        wait_for_change(word, ready, LONGEST_LOOK);
    }
}

/// Waits for another word than this one. Where none comes, nobody is there, until somebody says that they
/// are.
fn wait_for_change(word: &AtomicU32, known: u32, longest: Duration) -> u32 {
    let started = Instant::now();
    loop {
        let now = word.load(Ordering::Acquire);
        if now != known {
            return now;
        }
        let left = longest.saturating_sub(started.elapsed());
        if left.is_zero() {
            let _ = word.compare_exchange(known, NOBODY, Ordering::Relaxed, Ordering::Relaxed);
            return NOBODY;
        }
        let left = Timespec {
            tv_sec: left.as_secs().try_into().unwrap_or_default(),
            tv_nsec: left.subsec_nanos().into(),
        };
        let _ = futex::wait(word, Flags::empty(), known, Some(&left));
    }
}

/// Says that the next failure is looked at, or that it is not; whoever waits goes on.
pub(crate) fn set(word: &AtomicU32, ready: bool) {
    let change = |now: u32| {
        let next = now.wrapping_add(1);
        let next = if next.is_multiple_of(2) == ready { next.wrapping_add(1) } else { next };
        Some(if next == 0 { NOBODY } else { next })
    };
    let _ = word.fetch_update(Ordering::AcqRel, Ordering::Acquire, change);
    let _ = futex::wake(word, Flags::empty(), i32::MAX.cast_unsigned());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_rests_is_not_waited_for() {
        let word = AtomicU32::new(0);
        set(&word, true);
        set(&word, false);
        let resting = word.load(Ordering::Relaxed);
        assert!(resting.is_multiple_of(2) && resting != 0);
        wait(&word, resting);
        assert_eq!(word.load(Ordering::Relaxed), resting);
    }

    #[test]
    fn a_look_ends_the_wait_even_where_the_next_begins_at_once() {
        let word = AtomicU32::new(1);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                std::thread::sleep(Duration::from_millis(20));
                set(&word, true);
            });
            let started = Instant::now();
            wait(&word, 1);
            assert!(started.elapsed() < LONGEST_LOOK);
        });
    }

    #[test]
    fn who_does_not_come_is_waited_for_once() {
        for never_left in [0, 1] {
            let word = AtomicU32::new(never_left);
            wait(&word, never_left);
            assert_eq!(word.load(Ordering::Relaxed), NOBODY);
        }
    }
}
