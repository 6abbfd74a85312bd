//! A communicator's messages: sends to its ranks and waits for theirs.

use std::{
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use crate::{
    calls::Call,
    configuration::number,
    endpoint::{Endpoint, Peer},
    frame::{Lane, Message, Route},
    information::remember,
    mailbox::{Taken, UnderWay},
    status::Failure,
};

/// A wait that lasts this long ends, as it does by PyTorch's default; the variable has seconds.
const TIMEOUT: Duration = Duration::from_secs(600);
const TIMEOUT_VARIABLE: &str = "WHYOOM_LAB_NCCL_TIMEOUT";
/// A wait that lasts this long is worth a line.
const LONG: Duration = Duration::from_secs(30);
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

    /// Sends, and waits for nobody who has made the communicator.
    pub(crate) fn send(
        &self,
        (peer, lane): (u32, Lane),
        call: Call,
        bytes: Vec<u8>,
    ) -> Result<(), Failure> {
        let communicator = self.communicator;
        let route = Route { communicator, from: self.rank, to: peer, lane };
        let message = Message { call: call as u32, bytes };
        let mut wait = Wait::begin(call, peer);
        loop {
            match self.endpoint.send(route, &message).map_err(|_| Failure::System)? {
                Peer::Alive => return Ok(()),
                Peer::Absent => thread::sleep(PAUSE),
                Peer::Exited => return Err(wait.in_vain()),
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

/// Waiting for a rank, with a limit.
struct Wait {
    call: Call,
    peer: u32,
    since: Instant,
    is_reported: bool,
}

impl Wait {
    fn begin(call: Call, peer: u32) -> Self {
        Self { call, peer, since: Instant::now(), is_reported: false }
    }

    /// Goes on, unless it has lasted too long.
    fn go_on(&mut self) -> Result<(), Failure> {
        let (name, peer, waited) = (self.call.name(), self.peer, self.since.elapsed());
        let limit = number(TIMEOUT_VARIABLE).map_or(TIMEOUT, Duration::from_secs);
        if waited >= limit {
            let seconds = limit.as_secs();
            complain(format!(
                "{name} waited {seconds} s for rank {peer}; start all ranks inside one `whyoom lab \
                 run`, and make the same calls in all of them"
            ));
            return Err(Failure::System);
        }
        if waited >= LONG && !self.is_reported {
            self.is_reported = true;
            let (seconds, limit) = (LONG.as_secs(), limit.as_secs());
            eprintln!(
                "whyoom lab: {name} has waited {seconds} s for rank {peer}, and fails after {limit} s"
            );
        }
        Ok(())
    }

    /// Ends because the rank's process is gone.
    fn in_vain(&self) -> Failure {
        complain(format!("{} waits for rank {}, which has exited", self.call.name(), self.peer));
        Failure::Remote
    }
}

/// Says why a call fails, to people and to `ncclGetLastError`.
fn complain(text: String) {
    eprintln!("whyoom lab: {text}");
    remember(text);
}
