//! What this rank gives and takes in a group, and which of it belongs together.

use cudarc::driver::sys::{CUdeviceptr, CUstream};

use crate::{communicator::CommunicatorPointer, moves::copy, status::Failure};

/// What a transfer is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// `ncclSend` to a peer.
    Send(u32),
    /// `ncclRecv` from a peer.
    Receive(u32),
    /// A broadcast that this rank is the root of.
    Offer,
    /// A broadcast by another rank.
    Accept,
}

/// One side of an exchange: the buffer that this rank reads from or writes to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Transfer {
    pub role: Role,
    pub buffer: CUdeviceptr,
    pub bytes: usize,
    pub communicator: CommunicatorPointer,
    pub stream: CUstream,
}

/// Carries out the transfers of a group. A peer that is alike sends what it is sent, and
/// broadcasts what this rank broadcasts. What has no such partner leaves its buffer as it is.
pub(crate) fn exchange(transfers: &[Transfer]) -> Result<(), Failure> {
    for (source, target) in partners(transfers) {
        let bytes = source.bytes.min(target.bytes);
        let both = (source.buffer, target.buffer);
        copy(target.communicator.get()?, both, bytes, target.stream)?;
    }
    Ok(())
}

/// Which transfer gives what another one wants. A send serves one receive, in order; an offer
/// serves all who accept.
fn partners(transfers: &[Transfer]) -> Vec<(&Transfer, &Transfer)> {
    let mut given: Vec<&Transfer> = transfers.iter().collect();
    let mut pairs = Vec::new();
    for target in transfers {
        let wanted = match target.role {
            Role::Receive(peer) => Role::Send(peer),
            Role::Accept => Role::Offer,
            Role::Send(_) | Role::Offer => continue,
        };
        let Some(place) = given.iter().position(|given| given.role == wanted) else { continue };
        pairs.push((given[place], target));
        if wanted != Role::Offer {
            given.remove(place);
        }
    }
    pairs
}

#[cfg(test)]
mod tests {
    use super::*;

    fn transfer(role: Role, buffer: CUdeviceptr) -> Transfer {
        let (communicator, stream) = (CommunicatorPointer::NONE, std::ptr::null_mut());
        Transfer { role, buffer, bytes: 8, communicator, stream }
    }

    fn matched(transfers: &[(Role, CUdeviceptr)]) -> Vec<(CUdeviceptr, CUdeviceptr)> {
        let transfers: Vec<_> = transfers.iter().map(|&(role, at)| transfer(role, at)).collect();
        partners(&transfers).iter().map(|(from, to)| (from.buffer, to.buffer)).collect()
    }

    #[test]
    fn a_receive_gets_what_is_sent_to_the_same_peer() {
        use Role::{Receive, Send};
        let exchange = [(Receive(1), 10), (Send(1), 1), (Send(0), 0), (Receive(0), 20)];
        assert_eq!(matched(&exchange), [(1, 10), (0, 20)]);
        assert_eq!(matched(&[(Send(1), 1), (Receive(1), 10), (Receive(1), 11)]), [(1, 10)]);
    }

    #[test]
    fn all_who_accept_get_the_offer() {
        let gather = [(Role::Accept, 10), (Role::Offer, 1), (Role::Accept, 20)];
        assert_eq!(matched(&gather), [(1, 10), (1, 20)]);
        assert_eq!(matched(&[(Role::Accept, 10)]), []);
    }
}
