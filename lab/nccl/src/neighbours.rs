//! Whom a rank is connected to, by what it takes part in.

/// A connection of this rank, in one direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Connection {
    /// Towards a rank.
    Send(u32),
    /// From a rank.
    Receive(u32),
    /// Towards a rank, for `ncclSend`: NCCL keeps those apart.
    PairSend(u32),
    /// From a rank, for `ncclRecv`.
    PairReceive(u32),
}

impl Connection {
    /// The rank at its other end.
    pub(crate) fn peer(self) -> u32 {
        match self {
            Self::Send(peer) | Self::Receive(peer) => peer,
            Self::PairSend(peer) | Self::PairReceive(peer) => peer,
        }
    }
}

/// The ring: all collectives.
pub(crate) fn ring(rank: u32, ranks: u32) -> Vec<Connection> {
    if ranks < 2 {
        return Vec::new();
    }
    let (next, previous) = ((rank + 1) % ranks, (rank + ranks - 1) % ranks);
    vec![Connection::Send(next), Connection::Receive(previous)]
}

/// The tree, which inside a machine is a chain: `ncclAllReduce`. With two ranks it has no
/// connection that the ring has not.
pub(crate) fn tree(rank: u32, ranks: u32) -> Vec<Connection> {
    let up = rank.checked_sub(1);
    let down = Some(rank + 1).filter(|&down| down < ranks);
    let both = |peer| [Connection::Send(peer), Connection::Receive(peer)];
    up.into_iter().chain(down).flat_map(both).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn all(rank: u32, ranks: u32) -> usize {
        let both = ring(rank, ranks).into_iter().chain(tree(rank, ranks));
        both.collect::<BTreeSet<_>>().len()
    }

    #[test]
    fn two_ranks_share_ring_and_tree() {
        assert_eq!((all(0, 2), all(1, 2)), (2, 2));
    }

    #[test]
    fn in_a_chain_the_ends_need_one_more_and_the_middle_two() {
        assert_eq!([all(0, 4), all(1, 4), all(2, 4), all(3, 4)], [3, 4, 4, 3]);
    }

    #[test]
    fn one_rank_is_alone() {
        assert_eq!(all(0, 1), 0);
    }
}
