//! A communicator's messages: sends to its ranks and waits for theirs.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Duration,
};

use crate::{
    calls::Call,
    endpoint::{Endpoint, Outgoing, Peer, Sent},
    frame::{Lane, Message, Route},
    mailbox::{Taken, UnderWay},
    status::Failure,
    wait::{self, Wait, complain},
};

/// So often a rank that sends nothing is looked for.
const LOOK: Duration = Duration::from_millis(100);
/// So often a rank that is not there yet is.
const PAUSE: Duration = Duration::from_millis(1);

/// A rank that takes part in the exchange of messages.
pub(crate) struct Membership {
    endpoint: Arc<Endpoint>,
    communicator: u64,
    rank: u32,
    /// A receive that was alone in its group went on without its data.
    goes_on: AtomicBool,
}

impl Membership {
    /// Makes a rank known to the others.
    pub(crate) fn new(communicator: u64, rank: u32) -> std::io::Result<Self> {
        let endpoint = Endpoint::own()?;
        endpoint.announce((communicator, rank))?;
        Ok(Self { endpoint, communicator, rank, goes_on: AtomicBool::new(false) })
    }

    /// Begins an operation. The communicator is not freed before the answer is.
    pub(crate) fn enter(&self) -> Result<UnderWay<'_>, Failure> {
        self.endpoint.enter((self.communicator, self.rank))
    }

    /// Ends the waits of all threads, and returns when none is in an operation.
    pub(crate) fn leave(&self) {
        self.endpoint.leave((self.communicator, self.rank));
    }

    /// Whether another rank of the communicator is in this process.
    pub(crate) fn has_another(&self) -> bool {
        self.endpoint.has_another((self.communicator, self.rank))
    }

    /// Sends, and waits for nobody who has made the communicator, unless its queue is full.
    pub(crate) fn send(
        &self,
        (peer, lane): (u32, Lane),
        call: Call,
        bytes: &[u8],
    ) -> Result<(), Failure> {
        let communicator = self.communicator;
        let route = Route { communicator, from: self.rank, to: peer, lane };
        let mut outgoing =
            Outgoing::new(route, Message { call: call as u32, bytes: bytes.to_vec() });
        let mut wait = Wait::begin(call, peer);
        loop {
            match self.endpoint.send(&mut outgoing).map_err(|_| Failure::System)? {
                Sent::Yes => return Ok(()),
                Sent::Later => {}
                Sent::No(gone @ (Peer::Exited | Peer::Left)) => return Err(wait.in_vain(gone)),
                Sent::No(_) => thread::sleep(PAUSE),
            }
            if self.endpoint.intake.mailbox.is_leaving((communicator, self.rank)) {
                return Err(Failure::InvalidUsage);
            }
            wait.go_on()?;
        }
    }

    /// Waits for the next message of a rank.
    pub(crate) fn receive(
        &self,
        (peer, lane): (u32, Lane),
        call: Call,
        expected: usize,
    ) -> Result<Vec<u8>, Failure> {
        let message = self.next((peer, lane), call, Duration::MAX)?.ok_or(Failure::Internal)?;
        checked(message, (call, peer), expected)
    }

    /// Waits for the next message of a rank with nothing else in the group, but not for long: on a
    /// GPU the call returns, and the rank may send only after something that the caller does next.
    /// The message is dropped if it comes later. Who went on once does not wait again.
    pub(crate) fn receive_alone(
        &self,
        (peer, lane): (u32, Lane),
        call: Call,
        expected: usize,
    ) -> Result<Option<Vec<u8>>, Failure> {
        let waits = !self.goes_on.load(Ordering::Relaxed);
        let message = self.next((peer, lane), call, if waits { wait::alone() } else { PAUSE })?;
        if message.is_none() && !self.goes_on.swap(true, Ordering::Relaxed) {
            eprintln!(
                "whyoom lab: {} alone in its group waited {} s for rank {peer} and goes on \
                 without its data: here a call waits, not the stream",
                call.name(),
                wait::alone().as_secs()
            );
        }
        message.map(|message| checked(message, (call, peer), expected)).transpose()
    }

    /// The next message of a rank; nothing if it does not come in so long.
    fn next(
        &self,
        (peer, lane): (u32, Lane),
        call: Call,
        longest: Duration,
    ) -> Result<Option<Message>, Failure> {
        let communicator = self.communicator;
        let route = Route { communicator, from: peer, to: self.rank, lane };
        let (mut wait, mut gone) = (Wait::begin(call, peer), None);
        loop {
            match self.endpoint.intake.take(route, LOOK.min(longest)) {
                Taken::Message(message) => return Ok(Some(message)),
                Taken::Leaving => return Err(Failure::InvalidUsage),
                Taken::Nothing => {}
            }
            // What a rank sent just before it exited may still be on its way.
            if let Some(gone) = gone {
                return Err(wait.in_vain(gone));
            }
            if wait.has_lasted(longest) {
                return Ok(self.endpoint.intake.mailbox.forgo(route));
            }
            let found = self.endpoint.look_for((communicator, peer));
            gone = matches!(found, Peer::Exited | Peer::Left).then_some(found);
            wait.go_on()?;
        }
    }
}

impl Drop for Membership {
    fn drop(&mut self) {
        self.leave();
    }
}

/// What arrived, if it is what this call waits for.
fn checked(
    message: Message,
    (call, peer): (Call, u32),
    expected: usize,
) -> Result<Vec<u8>, Failure> {
    let Message { call: sender, bytes } = message;
    if call.takes(sender) && bytes.len() == expected {
        return Ok(bytes);
    }
    let (name, sender, length) = (call.name(), Call::name_of(sender), bytes.len());
    complain(format!(
        "{name} expects {expected} bytes, but rank {peer} sent {length} by {sender}; all ranks must \
         make the same calls in the same order"
    ));
    Err(Failure::InvalidUsage)
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use super::*;
    use crate::frame::LARGEST;

    const COMMUNICATOR: u64 = 3;

    /// Two ranks, each with a socket of its own that no thread reads. The folder goes with the first value.
    fn two_ranks() -> (TempDir, [Membership; 2]) {
        let folder = tempfile::tempdir().expect("a new folder");
        let ranks = [0, 1].map(|rank| {
            let endpoint = Arc::new(Endpoint::open(folder.path()).expect("a socket"));
            endpoint.announce((COMMUNICATOR, rank)).expect("a link");
            Membership {
                endpoint,
                communicator: COMMUNICATOR,
                rank,
                goes_on: AtomicBool::new(false),
            }
        });
        (folder, ranks)
    }

    #[test]
    fn a_sender_whose_receiver_takes_nothing_can_be_aborted() {
        let (_folder, [sender, _receiver]) = two_ranks();
        let bytes = vec![1; LARGEST];
        thread::scope(|scope| {
            let under_way = sender.enter().expect("a member");
            let sends = scope.spawn(|| {
                let send = || sender.send((1, Lane::Pair), Call::Send, &bytes);
                let failure = (0..1000).find_map(|_| send().err());
                drop(under_way);
                failure
            });
            thread::sleep(Duration::from_millis(300));
            assert!(!sends.is_finished(), "nobody reads, so the queue is full");
            sender.leave();
            assert_eq!(sends.join().expect("no panic"), Some(Failure::InvalidUsage));
        });
    }

    #[test]
    fn parts_go_on_where_they_stopped() {
        let (_folder, [sender, receiver]) = two_ranks();
        let messages = 40;
        thread::scope(|scope| {
            let sends = scope.spawn(|| {
                (0..messages).try_for_each(|number| {
                    let bytes = vec![number + 1; LARGEST];
                    sender.send((1, Lane::Pair), Call::Send, &bytes)
                })
            });
            // Longer than a sender waits at a time.
            thread::sleep(Duration::from_millis(300));
            for number in 0..messages {
                let lane = (0, Lane::Pair);
                let bytes = receiver.receive(lane, Call::Receive, LARGEST);
                let bytes = bytes.expect("it came");
                assert!(bytes.iter().all(|&byte| byte == number + 1), "message {number}");
            }
            assert_eq!(sends.join().expect("no panic"), Ok(()));
        });
    }

    #[test]
    fn a_receive_alone_goes_on_and_later_ones_keep_their_order() {
        let (_folder, [sender, receiver]) = two_ranks();
        let lane = (0, Lane::Pair);
        let send = |byte| sender.send((1, Lane::Pair), Call::Send, &[byte]);
        let short = Duration::from_millis(20);
        assert_eq!(receiver.next(lane, Call::Receive, short), Ok(None));
        receiver.goes_on.store(true, Ordering::Relaxed);
        assert_eq!(receiver.receive_alone(lane, Call::Receive, 1), Ok(None), "it does not wait");
        (1..=4).try_for_each(send).expect("sent");
        // The first two came too late.
        assert_eq!(receiver.receive_alone(lane, Call::Receive, 1), Ok(Some(vec![3])));
        assert_eq!(receiver.receive(lane, Call::Receive, 1), Ok(vec![4]));
    }
}
