//! Operations without messages, where ranks do not reach each other: in a stream capture, and with a
//! single rank. The others are taken to be alike: they send what this rank sends to them.

use cudarc::driver::sys::CUdeviceptr;

use crate::{
    calls::Call,
    exchange::Operation,
    frame::{LARGEST, Lane},
    moves::{self, copy},
    plan::{Block, Plan},
    status::Failure,
};

/// Gives a rank what it would get if all ranks held the same.
pub(crate) fn fill(operation: &Operation) -> Result<(), Failure> {
    let communicator = operation.communicator.get()?;
    let Plan { own, reduction, bytes, .. } = &operation.plan;
    let has_factor = reduction.as_ref().is_some_and(|it| it.factor.is_some());
    // What a capture would write is only known when the graph runs.
    let is_computed = has_factor
        && (1..=LARGEST).contains(bytes)
        && !communicator.driver().is_capturing(operation.stream);
    if let Some((source, target)) = *own
        && is_computed
    {
        let scaled = operation.contribution(communicator, source)?;
        return moves::write(communicator, target, &scaled, operation.stream);
    }
    let copies = copies(&operation.plan);
    copies
        .into_iter()
        .try_for_each(|both| copy(communicator, both, operation.plan.bytes, operation.stream))
}

/// Sources and targets.
fn copies(plan: &Plan) -> Vec<(CUdeviceptr, CUdeviceptr)> {
    let own = plan.own.into_iter();
    if plan.reduction.is_some() {
        return own.collect();
    }
    let sent_to = |peer| plan.outgoing.iter().find(|block| block.peer == peer);
    let source = |peer| sent_to(peer).map(|block| block.at).or(plan.own.map(|(own, _)| own));
    let filled = plan.incoming.iter().filter_map(|it| Some((source(it.peer)?, it.at)));
    own.chain(filled).collect()
}

/// What a transfer of a group is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
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
struct Transfer<'group> {
    role: Role,
    buffer: CUdeviceptr,
    operation: &'group Operation,
}

/// What depends on other calls of a group. A peer that is alike sends what it is sent, and
/// broadcasts what this rank broadcasts. What has no such partner leaves its buffer as it is.
pub(crate) fn exchange(operations: &[Operation]) -> Result<(), Failure> {
    let transfers: Vec<_> = operations.iter().filter_map(transfer).collect();
    for (source, target) in partners(&transfers) {
        let bytes = source.operation.plan.bytes.min(target.operation.plan.bytes);
        let operation = target.operation;
        let both = (source.buffer, target.buffer);
        copy(operation.communicator.get()?, both, bytes, operation.stream)?;
    }
    Ok(())
}

fn transfer(operation: &Operation) -> Option<Transfer<'_>> {
    let Plan { lane, outgoing, incoming, own, .. } = &operation.plan;
    let is_broadcast = operation.call == Call::Broadcast;
    let (role, buffer) = match (lane, outgoing.as_slice(), incoming.as_slice(), own) {
        (Lane::Pair, [Block { peer, at }], [], _) => (Role::Send(*peer), *at),
        (Lane::Pair, [], [Block { peer, at }], _) => (Role::Receive(*peer), *at),
        (_, _, [], Some((source, _))) if is_broadcast => (Role::Offer, *source),
        (_, _, [Block { at, .. }], None) if is_broadcast => (Role::Accept, *at),
        _ => return None,
    };
    Some(Transfer { role, buffer, operation })
}

/// Which transfer gives what another one wants. A send serves one receive, in order; an offer
/// serves all who accept.
fn partners<'all, 'group>(
    transfers: &'all [Transfer<'group>],
) -> Vec<(&'all Transfer<'group>, &'all Transfer<'group>)> {
    let mut given: Vec<&Transfer<'_>> = transfers.iter().collect();
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
    use crate::{
        communicator::CommunicatorPointer,
        plan::{Buffers, Reduction, Seat},
    };

    const SEAT: Seat = Seat { rank: 1, ranks: 3 };
    const BUFFERS: Buffers = Buffers { source: 100, target: 200, bytes: 8 };

    fn operation(call: Call, plan: Plan) -> Operation {
        let (communicator, stream) = (CommunicatorPointer::NONE, std::ptr::null_mut());
        Operation { call, communicator, stream, plan }
    }

    fn matched(operations: &[Operation]) -> Vec<(CUdeviceptr, CUdeviceptr)> {
        let transfers: Vec<_> = operations.iter().filter_map(transfer).collect();
        partners(&transfers).iter().map(|(from, to)| (from.buffer, to.buffer)).collect()
    }

    #[test]
    fn a_receive_gets_what_is_sent_to_the_same_peer() {
        let send = |peer, at| operation(Call::Send, Plan::send(peer, at, 8));
        let receive = |peer, at| operation(Call::Receive, Plan::receive(peer, at, 8));
        let exchange = [receive(1, 10), send(1, 1), send(0, 2), receive(0, 20)];
        assert_eq!(matched(&exchange), [(1, 10), (2, 20)]);
        assert_eq!(matched(&[send(1, 1), receive(1, 10), receive(1, 11)]), [(1, 10)]);
    }

    #[test]
    fn all_who_accept_get_the_offer() {
        let broadcast = |root, target| {
            let buffers = Buffers { target, ..BUFFERS };
            operation(Call::Broadcast, Plan::broadcast(SEAT, root, buffers))
        };
        let gather = [broadcast(0, 10), broadcast(1, 20), broadcast(2, 30)];
        assert_eq!(matched(&gather), [(100, 10), (100, 30)]);
        assert_eq!(matched(&gather[..1]), []);
    }

    #[test]
    fn every_slot_is_filled_with_the_own_data() {
        assert_eq!(copies(&Plan::all_gather(SEAT, BUFFERS)), [(100, 208), (100, 200), (100, 216)]);
        let exchanged = [(108, 208), (100, 200), (116, 216)];
        assert_eq!(copies(&Plan::all_to_all(SEAT, BUFFERS)), exchanged);
        let sum = Reduction { kind: 4, operation: 0, factor: None };
        assert_eq!(copies(&Plan::all_reduce(SEAT, BUFFERS, sum.clone())), [(100, 200)]);
        assert_eq!(copies(&Plan::reduce(SEAT, 0, BUFFERS, sum)), []);
    }
}
