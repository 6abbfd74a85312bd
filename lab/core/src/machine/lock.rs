//! A lock between processes that survives the death of its owner, and any bytes in its place.
//!
//! It is one word: zero, or who holds it. There is nothing in it to follow, and nobody waits for longer
//! than a moment that is bounded whatever the word says:
//!
//! - an owner that has ended, or never was, is replaced as soon as that is seen;
//! - one that outstays the patience of a waiter is replaced too, whether it was stopped, lives where it
//!   cannot be seen, or is what somebody wrote there. Each time halves what a process waits for the next,
//!   so that it loses no more than a second in all, and [`LEAST_PATIENCE`] a time from then on.
//!
//! Two may then be inside at a time. What they write are atomic words, so that their sums can be wrong
//! until one of them ends, and nothing else.

use std::{
    sync::atomic::{
        AtomicU32, AtomicU64,
        Ordering::{Acquire, Relaxed, Release},
    },
    thread,
    time::{Duration, Instant},
};

use super::owner::{self, State};

/// The lock is held for microseconds: whoever has it for longer was stopped, or does not have it.
const PATIENCE: Duration = Duration::from_millis(500);
/// What is left of that where it was in vain again and again.
const LEAST_PATIENCE: Duration = Duration::from_millis(1);

/// A waiter turns round so often before it lets others run, and so often before it sleeps.
const SPINS: u32 = 64;
const YIELDS: u32 = 8;
/// It sleeps for so long at first, and at most.
const FIRST_SLEEP: Duration = Duration::from_micros(20);
const LONGEST_SLEEP: Duration = Duration::from_millis(1);
/// How often it looks whether the owner lives: that reads `/proc`.
const LOOK: Duration = Duration::from_millis(2);

/// How often an owner outstayed the patience of this process.
static OUTSTAYED: AtomicU32 = AtomicU32::new(0);

/// The lock. Any value is one.
#[repr(transparent)]
pub(super) struct OwnerLock(AtomicU64);

/// Holds the lock until dropped.
pub(super) struct Guard<'a> {
    lock: &'a OwnerLock,
    own: u64,
}

impl OwnerLock {
    pub(super) fn lock(&self) -> Guard<'_> {
        let own = owner::own();
        if !self.take(0, own) {
            self.wait(own);
        }
        Guard { lock: self, own }
    }

    fn take(&self, from: u64, own: u64) -> bool {
        self.0.compare_exchange(from, own, Acquire, Relaxed).is_ok()
    }

    #[cold]
    fn wait(&self, own: u64) {
        let mut wait = Wait::begin();
        loop {
            let word = self.0.load(Relaxed);
            if wait.is_over() {
                OUTSTAYED.fetch_add(1, Relaxed);
                self.0.store(own, Relaxed);
                return;
            }
            if (word == 0 || wait.finds_gone(word)) && self.take(word, own) {
                return;
            }
            wait.pause();
        }
    }
}

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        // Not where another has taken it over.
        let _ = self.lock.0.compare_exchange(self.own, 0, Release, Relaxed);
    }
}

/// One wait for the lock.
struct Wait {
    began: Instant,
    patience: Duration,
    rounds: u32,
    sleep: Duration,
    looked: Option<Instant>,
}

impl Wait {
    fn begin() -> Self {
        let halvings = OUTSTAYED.load(Relaxed).min(31);
        let patience = (PATIENCE / (1 << halvings)).max(LEAST_PATIENCE);
        Self { began: Instant::now(), patience, rounds: 0, sleep: FIRST_SLEEP, looked: None }
    }

    fn is_over(&self) -> bool {
        self.rounds > SPINS && self.began.elapsed() >= self.patience
    }

    /// Whether the owner is known to have ended; asked only now and then.
    fn finds_gone(&mut self, word: u64) -> bool {
        let sleeps = self.rounds > SPINS + YIELDS;
        let due = sleeps && self.looked.is_none_or(|looked| looked.elapsed() >= LOOK);
        if due {
            self.looked = Some(Instant::now());
        }
        due && owner::state(word) == State::Gone
    }

    fn pause(&mut self) {
        self.rounds = self.rounds.saturating_add(1);
        if self.rounds <= SPINS {
            std::hint::spin_loop();
        } else if self.rounds <= SPINS + YIELDS {
            thread::yield_now();
        } else {
            thread::sleep(self.sleep);
            self.sleep = (self.sleep * 2).min(LONGEST_SLEEP);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn held_by(word: u64) -> OwnerLock {
        OwnerLock(AtomicU64::new(word))
    }

    fn seconds_to_lock(lock: &OwnerLock) -> f64 {
        let began = Instant::now();
        drop(lock.lock());
        assert_eq!(lock.0.load(Relaxed), 0, "it is free again");
        began.elapsed().as_secs_f64()
    }

    #[test]
    fn one_at_a_time() {
        let (lock, inside) = (held_by(0), AtomicU64::new(0));
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..1000 {
                        let _guard = lock.lock();
                        assert_eq!(inside.fetch_add(1, Relaxed), 0);
                        inside.fetch_sub(1, Relaxed);
                    }
                });
            }
        });
    }

    #[test]
    fn whoever_has_ended_holds_nothing() {
        // It runs until it is killed: whatever ends by itself may have ended before its start time is read.
        let mut child = std::process::Command::new("sleep").arg("60").spawn().expect("sleep runs");
        let owner = owner::of(child.id()).expect("it runs");
        child.kill().expect("it is our own");
        child.wait().expect("it ends");
        assert!(seconds_to_lock(&held_by(owner)) < 0.3);
    }

    #[test]
    fn nobody_waits_for_ever_whatever_the_word_says() {
        let alive = owner::of(std::process::id()).expect("this process");
        let words = [alive, 1, u64::MAX, 0xDEAD_BEEF << 20, 1 << 63];
        let all: f64 =
            (0..100).flat_map(|_| words).map(|word| seconds_to_lock(&held_by(word))).sum();
        assert!(all < 6.0, "500 words of a stranger cost {all} s");
    }
}
