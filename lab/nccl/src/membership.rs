//! A communicator's messages: sends to its ranks and waits for theirs.

use std::{sync::Arc, thread, time::Duration};

use crate::{
    calls::Call,
    endpoint::{Endpoint, Outgoing, Peer, Sent},
    frame::{Lane, Message, Route},
    mailbox::{Taken, UnderWay},
    status::Failure,
    wait::{Wait, complain},
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
}

impl Membership {
    /// Makes a rank known to the others.
    pub(crate) fn new(communicator: u64, rank: u32) -> std::io::Result<Self> {
        let endpoint = Endpoint::own()?;
        endpoint.announce((communicator, rank))?;
        Ok(Self { endpoint, communicator, rank })
    }

    /// Begins an operation. The communicator is not freed before the answer is.
    pub(crate) fn enter(&self) -> Result<UnderWay<'_>, Failure> {
        self.endpoint.intake.mailbox.enter((self.communicator, self.rank))
    }

    /// Ends the waits of all threads, and returns when none is in an operation.
    pub(crate) fn leave(&self) {
        self.endpoint.intake.mailbox.leave((self.communicator, self.rank));
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
                Sent::No(Peer::Exited) => return Err(wait.in_vain()),
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
        let communicator = self.communicator;
        let route = Route { communicator, from: peer, to: self.rank, lane };
        let (mut wait, mut exited) = (Wait::begin(call, peer), false);
        loop {
            match self.endpoint.intake.take(route, LOOK) {
                Taken::Message(message) => return checked(message, (call, peer), expected),
                Taken::Leaving => return Err(Failure::InvalidUsage),
                // What a rank sent just before it exited may still be on its way.
                Taken::Nothing if exited => return Err(wait.in_vain()),
                Taken::Nothing => {}
            }
            exited = self.endpoint.look_for((communicator, peer)) == Peer::Exited;
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
            Membership { endpoint, communicator: COMMUNICATOR, rank }
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
}
