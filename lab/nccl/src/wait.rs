//! Waiting for a rank, with a limit, and what is said of it.

use std::time::{Duration, Instant};

use crate::{
    calls::Call, configuration::number, endpoint::Peer, information::remember, status::Failure,
};

/// A wait that lasts this long ends, as it does by PyTorch's default; the variable has seconds.
const TIMEOUT: Duration = Duration::from_secs(600);
const TIMEOUT_VARIABLE: &str = "WHYOOM_LAB_NCCL_TIMEOUT";
/// A wait that lasts this long is worth a line.
const LONG: Duration = Duration::from_secs(30);

fn limit() -> Duration {
    number(TIMEOUT_VARIABLE).map_or(TIMEOUT, Duration::from_secs)
}

/// So long a receive that is alone in its group waits: it may be that of ranks that receive before they send, which
/// is no mistake on GPUs.
pub(crate) fn alone() -> Duration {
    limit() / 10
}

/// Waiting for a rank, with a limit.
pub(crate) struct Wait {
    call: Call,
    peer: u32,
    since: Instant,
    limit: Duration,
    is_reported: bool,
}

impl Wait {
    pub(crate) fn begin(call: Call, peer: u32) -> Self {
        Self { call, peer, since: Instant::now(), limit: limit(), is_reported: false }
    }

    pub(crate) fn has_lasted(&self, longest: Duration) -> bool {
        self.since.elapsed() >= longest
    }

    /// Goes on, unless it has lasted too long.
    pub(crate) fn go_on(&mut self) -> Result<(), Failure> {
        let (name, peer, waited) = (self.call.name(), self.peer, self.since.elapsed());
        if waited >= self.limit {
            let seconds = self.limit.as_secs();
            complain(format!(
                "{name} waited {seconds} s for rank {peer}; start all ranks inside one `whyoom lab \
                 run`, and make the same calls in all of them"
            ));
            return Err(Failure::System);
        }
        if waited >= LONG && !self.is_reported {
            self.is_reported = true;
            let (seconds, limit) = (LONG.as_secs(), self.limit.as_secs());
            eprintln!(
                "whyoom lab: {name} has waited {seconds} s for rank {peer}, and fails after {limit} s"
            );
        }
        Ok(())
    }

    /// Ends because the rank is gone.
    pub(crate) fn in_vain(&self, how: Peer) -> Failure {
        let how = if how == Peer::Left { "left the communicator" } else { "exited" };
        complain(format!("{} waits for rank {}, which has {how}", self.call.name(), self.peer));
        Failure::Remote
    }
}

/// Says why a call fails, to people and to `ncclGetLastError`.
pub(crate) fn complain(text: String) {
    eprintln!("whyoom lab: {text}");
    remember(text);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_ends_at_its_limit() {
        let mut wait = Wait::begin(Call::Send, 1);
        assert_eq!(wait.go_on(), Ok(()));
        wait.limit = Duration::ZERO;
        assert_eq!(wait.go_on(), Err(Failure::System));
    }
}
