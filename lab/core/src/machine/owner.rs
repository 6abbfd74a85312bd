//! Who holds the lock, as one word: the process's number, when it started and which namespace the number
//! is of, each as far as there is room. A word that nobody wrote is some process, or none.

use std::sync::atomic::{
    AtomicBool, AtomicU64,
    Ordering::{Relaxed, SeqCst},
};

use super::liveness::{own_namespace, start_time};

/// More than Linux gives numbers to processes.
const PID_BITS: u32 = 24;
/// In clock ticks of 10 ms, a month: so long no number is given again at the same tick.
const STARTED_BITS: u32 = 28;
const NAMESPACE_BITS: u32 = 12;

/// This process; zero until it was asked for.
static OWN: AtomicU64 = AtomicU64::new(0);
static FORKS_ARE_NOTED: AtomicBool = AtomicBool::new(false);

/// What can be told of an owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Alive,
    Gone,
    /// It is of another namespace, hidden, or cannot be read about.
    Unknown,
}

/// A child is another process than its parent.
extern "C" fn note_fork() {
    OWN.store(0, Relaxed);
}

/// This process, which is never zero.
pub(super) fn own() -> u64 {
    match OWN.load(Relaxed) {
        0 => find_own(),
        known => known,
    }
}

#[cold]
fn find_own() -> u64 {
    if !FORKS_ARE_NOTED.swap(true, SeqCst) {
        // SAFETY: the handler is async-signal-safe: it stores one word.
        unsafe { libc::pthread_atfork(None, None, Some(note_fork)) };
    }
    let pid = std::process::id();
    let own = of(pid).unwrap_or_else(|| word(pid, 0, 0));
    OWN.store(own, Relaxed);
    own
}

/// A process of this namespace, where it can be read about.
pub(super) fn of(pid: u32) -> Option<u64> {
    let started = start_time(pid).ok().flatten()?;
    Some(word(pid, started, own_namespace()))
}

/// What can be told of whom a word names.
pub(super) fn state(owner: u64) -> State {
    let (pid, _, namespace) = parts(owner);
    if pid == 0 {
        return State::Gone;
    }
    if namespace == 0 || namespace != low(own_namespace(), NAMESPACE_BITS) {
        return State::Unknown;
    }
    match start_time(pid as u32) {
        Err(_) => State::Unknown,
        Ok(Some(started)) if word(pid as u32, started, namespace) == owner => State::Alive,
        Ok(_) => State::Gone,
    }
}

fn word(pid: u32, started: u64, namespace: u64) -> u64 {
    let (pid, started) = (low(pid.into(), PID_BITS), low(started, STARTED_BITS));
    (low(namespace, NAMESPACE_BITS) << STARTED_BITS | started) << PID_BITS | pid
}

fn parts(owner: u64) -> (u64, u64, u64) {
    let rest = owner >> PID_BITS;
    (low(owner, PID_BITS), low(rest, STARTED_BITS), rest >> STARTED_BITS)
}

fn low(value: u64, bits: u32) -> u64 {
    value & ((1 << bits) - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_keeps_its_parts() {
        assert_eq!(PID_BITS + STARTED_BITS + NAMESPACE_BITS, u64::BITS);
        assert_eq!(parts(word(4_194_304, 123_456_789, 0xF00)), (4_194_304, 123_456_789, 0xF00));
    }

    #[test]
    fn this_process_lives_and_others_do_not() {
        let (pid, started, namespace) = parts(own());
        assert_eq!((pid, state(own())), (u64::from(std::process::id()), State::Alive));
        assert_eq!(state(word(pid as u32, started + 1, namespace)), State::Gone);
        assert_eq!(state(word(pid as u32, started, namespace ^ 1)), State::Unknown);
        assert_eq!(state(0), State::Gone);
    }

    #[test]
    fn a_forked_child_is_another_owner() {
        let parent = own();
        // SAFETY: the child makes system calls of its own and ends at once.
        let child = unsafe { libc::fork() };
        if child == 0 {
            let differs = own() != parent;
            // SAFETY: ends the child without handlers that belong to its parent.
            unsafe { libc::_exit(i32::from(!differs)) };
        }
        let mut status = -1;
        // SAFETY: waits for our own child, with a place for the answer.
        unsafe { libc::waitpid(child, &raw mut status, 0) };
        assert_eq!(status, 0);
    }
}
