//! Datagrams from the socket into the mailbox.
//!
//! A rank that waits reads the socket itself: it goes on when its message comes, without another
//! thread between. While nobody waits a thread reads, so that senders do not wait for a rank that
//! is busy with something else.

use std::{
    os::{fd::AsRawFd, unix::net::UnixDatagram},
    sync::{
        Mutex, TryLockError,
        atomic::{AtomicU32, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use crate::{
    frame::{self, LONGEST, Route},
    mailbox::{Mailbox, Taken},
};

/// So long the thread leaves the socket to those who wait.
const LEAVE_TO_OTHERS: Duration = Duration::from_millis(5);
/// The thread looks around at least this often.
const IDLE: Duration = Duration::from_secs(60);

/// A socket and what came of it.
pub(crate) struct Intake {
    pub socket: UnixDatagram,
    pub mailbox: Mailbox,
    /// Held by who reads the socket, with the room for a datagram.
    reading: Mutex<Vec<u8>>,
    /// How many threads wait for messages.
    waiters: AtomicU32,
}

impl Intake {
    pub(crate) fn new(socket: UnixDatagram) -> Self {
        let reading = Mutex::new(vec![0; LONGEST]);
        Self { socket, mailbox: Mailbox::default(), reading, waiters: AtomicU32::new(0) }
    }

    /// Whether somebody may be waiting at the socket, who does not see what comes another way.
    pub(crate) fn has_waiters(&self) -> bool {
        self.waiters.load(Ordering::SeqCst) > 0
    }

    /// Reads while nobody waits, as long as the process lives.
    pub(crate) fn run(&self) {
        loop {
            self.wait_readable(IDLE);
            if self.has_waiters() {
                thread::sleep(LEAVE_TO_OTHERS);
            } else {
                self.read_all(Duration::ZERO);
                self.mailbox.wake();
            }
        }
    }

    /// Takes the next message of a route, and waits for it so long.
    pub(crate) fn take(&self, route: Route, longest: Duration) -> Taken {
        self.waiters.fetch_add(1, Ordering::SeqCst);
        let taken = self.wait(route, longest);
        self.waiters.fetch_sub(1, Ordering::SeqCst);
        // Another one who waits is to read from now on.
        self.mailbox.wake();
        taken
    }

    fn wait(&self, route: Route, longest: Duration) -> Taken {
        let until = Instant::now() + longest;
        loop {
            let (taken, woken) = self.mailbox.take(route);
            let left = until.saturating_duration_since(Instant::now());
            if taken != Taken::Nothing || left.is_zero() {
                return taken;
            }
            if !self.read_all(left) {
                self.mailbox.wait(route, woken, left);
            }
        }
    }

    /// Reads what is there, and waits for it so long; false where somebody else reads.
    fn read_all(&self, longest: Duration) -> bool {
        let mut room = match self.reading.try_lock() {
            Ok(room) => room,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return false,
        };
        if !longest.is_zero() {
            self.wait_readable(longest);
        }
        while let Some(length) = self.read(&mut room) {
            if let Some(part) = frame::read(&room[..length]) {
                self.mailbox.add(&part);
            }
        }
        true
    }

    /// Waits until a datagram is there, or so long.
    fn wait_readable(&self, longest: Duration) {
        let mut wanted =
            libc::pollfd { fd: self.socket.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        // SAFETY: one entry, which lives through the call.
        unsafe { libc::poll(&mut wanted, 1, longest.as_millis() as i32 + 1) };
    }

    /// Reads one datagram, if there is any.
    fn read(&self, room: &mut [u8]) -> Option<usize> {
        let (socket, length) = (self.socket.as_raw_fd(), room.len());
        // SAFETY: as many bytes of room as are said.
        let read =
            unsafe { libc::recv(socket, room.as_mut_ptr().cast(), length, libc::MSG_DONTWAIT) };
        usize::try_from(read).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::{Lane, Message, datagrams};

    const LONG: Duration = Duration::from_secs(60);

    fn route(to: u32) -> Route {
        Route { communicator: 9, from: 7, to, lane: Lane::Collective }
    }

    fn message(to: u32) -> Message {
        Message { call: 0, bytes: vec![to as u8; 100_000] }
    }

    /// Two ranks of a process, and the socket that another process sends to.
    fn intake() -> (Intake, UnixDatagram) {
        let (own, others) = UnixDatagram::pair().expect("two sockets");
        let intake = Intake::new(own);
        assert!((1..=2).all(|rank| intake.mailbox.join((9, rank))));
        (intake, others)
    }

    fn send(socket: &UnixDatagram, to: u32) {
        for datagram in datagrams(route(to), &message(to)) {
            socket.send(&datagram).expect("sent");
        }
    }

    #[test]
    fn one_who_waits_reads_for_the_others_too() {
        let (intake, others) = intake();
        thread::scope(|scope| {
            let waiters = [1, 2].map(|rank| {
                let intake = &intake;
                scope.spawn(move || (0..50).all(|_| is_taken(intake, rank)))
            });
            for _ in 0..50 {
                (1..=2).for_each(|rank| send(&others, rank));
            }
            assert!(waiters.into_iter().all(|waiter| waiter.join().expect("no panic")));
        });
        assert!(!intake.has_waiters());
    }

    fn is_taken(intake: &Intake, rank: u32) -> bool {
        intake.take(route(rank), LONG) == Taken::Message(message(rank))
    }

    #[test]
    fn nothing_is_waited_for_longer_than_asked() {
        let (intake, others) = intake();
        send(&others, 2);
        assert_eq!(intake.take(route(1), Duration::from_millis(20)), Taken::Nothing);
        assert!(is_taken(&intake, 2));
    }

    #[test]
    fn a_thread_reads_while_nobody_waits() {
        let (intake, others) = intake();
        // Never stopped: it waits for datagrams as long as the process lives.
        let intake: &'static Intake = Box::leak(Box::new(intake));
        thread::spawn(|| intake.run());
        // More than a socket holds.
        for _ in 0..100 {
            send(&others, 1);
        }
        assert!((0..100).all(|_| is_taken(intake, 1)));
    }
}
