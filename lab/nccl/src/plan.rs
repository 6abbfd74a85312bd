//! What a rank sends and receives in an operation, by addresses in its own buffers. Pure.

use cudarc::driver::sys::CUdeviceptr;

use crate::{factors::Factor, frame::Lane};

/// A block that goes to a rank or comes from one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Block {
    pub peer: u32,
    pub at: CUdeviceptr,
}

/// How what arrives is reduced: numbers of `ncclDataType_t` and `ncclRedOp_t`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Reduction {
    pub kind: u32,
    pub operation: u32,
    /// What a rank's data is multiplied by. Kept here: the caller may destroy the operation as soon as
    /// the call returns, before its group ends.
    pub factor: Option<Factor>,
}

/// A rank among ranks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seat {
    pub rank: u32,
    pub ranks: u32,
}

impl Seat {
    /// A block of each other rank; how far apart they are.
    fn others(self, first: CUdeviceptr, apart: usize) -> Vec<Block> {
        let block = |peer| Block { peer, at: slot(first, peer, apart) };
        (0..self.ranks).filter(|&peer| peer != self.rank).map(block).collect()
    }
}

fn slot(first: CUdeviceptr, rank: u32, each: usize) -> CUdeviceptr {
    first.wrapping_add(u64::from(rank) * each as u64)
}

/// One operation of one rank. All blocks have the same size.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Plan {
    pub lane: Lane,
    pub bytes: usize,
    pub outgoing: Vec<Block>,
    pub incoming: Vec<Block>,
    /// Source and target of this rank's own block.
    pub own: Option<(CUdeviceptr, CUdeviceptr)>,
    /// What arrives is reduced with the own source into the own target.
    pub reduction: Option<Reduction>,
}

/// The caller's buffers, and the size of a block.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Buffers {
    pub source: CUdeviceptr,
    pub target: CUdeviceptr,
    pub bytes: usize,
}

impl Plan {
    fn new(bytes: usize) -> Self {
        Self {
            lane: Lane::Collective,
            bytes,
            outgoing: Vec::new(),
            incoming: Vec::new(),
            own: None,
            reduction: None,
        }
    }

    pub(crate) fn send(peer: u32, at: CUdeviceptr, bytes: usize) -> Self {
        Self { lane: Lane::Pair, outgoing: vec![Block { peer, at }], ..Self::new(bytes) }
    }

    pub(crate) fn receive(peer: u32, at: CUdeviceptr, bytes: usize) -> Self {
        Self { lane: Lane::Pair, incoming: vec![Block { peer, at }], ..Self::new(bytes) }
    }

    pub(crate) fn broadcast(seat: Seat, root: u32, buffers: Buffers) -> Self {
        let Buffers { source, target, bytes } = buffers;
        if seat.rank != root {
            return Self { incoming: vec![Block { peer: root, at: target }], ..Self::new(bytes) };
        }
        let (outgoing, own) = (seat.others(source, 0), Some((source, target)));
        Self { outgoing, own, ..Self::new(bytes) }
    }

    pub(crate) fn all_gather(seat: Seat, buffers: Buffers) -> Self {
        let Buffers { source, target, bytes } = buffers;
        Self {
            outgoing: seat.others(source, 0),
            incoming: seat.others(target, bytes),
            own: Some((source, slot(target, seat.rank, bytes))),
            ..Self::new(bytes)
        }
    }

    pub(crate) fn gather(seat: Seat, root: u32, buffers: Buffers) -> Self {
        let Buffers { source, target, bytes } = buffers;
        if seat.rank != root {
            return Self { outgoing: vec![Block { peer: root, at: source }], ..Self::new(bytes) };
        }
        let own = Some((source, slot(target, seat.rank, bytes)));
        Self { incoming: seat.others(target, bytes), own, ..Self::new(bytes) }
    }

    pub(crate) fn scatter(seat: Seat, root: u32, buffers: Buffers) -> Self {
        let Buffers { source, target, bytes } = buffers;
        if seat.rank != root {
            return Self { incoming: vec![Block { peer: root, at: target }], ..Self::new(bytes) };
        }
        let own = Some((slot(source, seat.rank, bytes), target));
        Self { outgoing: seat.others(source, bytes), own, ..Self::new(bytes) }
    }

    pub(crate) fn all_to_all(seat: Seat, buffers: Buffers) -> Self {
        let Buffers { source, target, bytes } = buffers;
        let own = (slot(source, seat.rank, bytes), slot(target, seat.rank, bytes));
        Self {
            outgoing: seat.others(source, bytes),
            incoming: seat.others(target, bytes),
            own: Some(own),
            ..Self::new(bytes)
        }
    }

    pub(crate) fn all_reduce(seat: Seat, buffers: Buffers, reduction: Reduction) -> Self {
        let Buffers { source, target, bytes } = buffers;
        Self {
            outgoing: seat.others(source, 0),
            incoming: seat.others(0, 0),
            own: Some((source, target)),
            reduction: Some(reduction),
            ..Self::new(bytes)
        }
    }

    pub(crate) fn reduce(seat: Seat, root: u32, buffers: Buffers, reduction: Reduction) -> Self {
        if seat.rank == root {
            return Self { outgoing: Vec::new(), ..Self::all_reduce(seat, buffers, reduction) };
        }
        let outgoing = vec![Block { peer: root, at: buffers.source }];
        Self { outgoing, reduction: Some(reduction), ..Self::new(buffers.bytes) }
    }

    pub(crate) fn reduce_scatter(seat: Seat, buffers: Buffers, reduction: Reduction) -> Self {
        let Buffers { source, target, bytes } = buffers;
        Self {
            outgoing: seat.others(source, bytes),
            incoming: seat.others(0, 0),
            own: Some((slot(source, seat.rank, bytes), target)),
            reduction: Some(reduction),
            ..Self::new(bytes)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BUFFERS: Buffers = Buffers { source: 1000, target: 2000, bytes: 8 };
    const SUM: Reduction = Reduction { kind: 4, operation: 0, factor: None };
    const RANKS: u32 = 3;

    fn seat(rank: u32) -> Seat {
        Seat { rank, ranks: RANKS }
    }

    /// Every block that a rank sends is one that its peer waits for, and the other way round.
    fn fits_together(plan: impl Fn(Seat) -> Plan) {
        let plans: Vec<Plan> = (0..RANKS).map(|rank| plan(seat(rank))).collect();
        let has = |blocks: &[Block], peer| blocks.iter().filter(|it| it.peer == peer).count();
        for from in 0..RANKS {
            for to in 0..RANKS {
                let (sends, waits) = (&plans[from as usize].outgoing, &plans[to as usize].incoming);
                assert_eq!(has(sends, to), has(waits, from), "from {from} to {to}: {plans:?}");
            }
        }
    }

    #[test]
    fn what_one_rank_sends_another_awaits() {
        fits_together(|seat| Plan::all_gather(seat, BUFFERS));
        fits_together(|seat| Plan::all_to_all(seat, BUFFERS));
        fits_together(|seat| Plan::all_reduce(seat, BUFFERS, SUM));
        fits_together(|seat| Plan::reduce_scatter(seat, BUFFERS, SUM));
        for root in 0..RANKS {
            fits_together(|seat| Plan::broadcast(seat, root, BUFFERS));
            fits_together(|seat| Plan::gather(seat, root, BUFFERS));
            fits_together(|seat| Plan::scatter(seat, root, BUFFERS));
            fits_together(|seat| Plan::reduce(seat, root, BUFFERS, SUM));
        }
    }

    #[test]
    fn blocks_have_their_slots() {
        let at = |blocks: &[Block]| blocks.iter().map(|block| block.at).collect::<Vec<_>>();
        let exchanged = Plan::all_to_all(seat(1), BUFFERS);
        assert_eq!(
            (at(&exchanged.outgoing), at(&exchanged.incoming)),
            (vec![1000, 1016], vec![2000, 2016])
        );
        assert_eq!(exchanged.own, Some((1008, 2008)));
        let gathered = Plan::all_gather(seat(2), BUFFERS);
        assert_eq!((at(&gathered.outgoing), gathered.own), (vec![1000, 1000], Some((1000, 2016))));
        let scattered = Plan::reduce_scatter(seat(0), BUFFERS, SUM);
        assert_eq!(
            (at(&scattered.outgoing), scattered.own),
            (vec![1008, 1016], Some((1000, 2000)))
        );
    }
}
