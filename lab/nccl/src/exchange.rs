//! Carries out operations: everything that this thread sends, then all that it waits for. With
//! several communicators in one thread, none can thus wait for another.

use cudarc::driver::sys::{CUdeviceptr, CUstream};

use crate::{
    calls::Call,
    communicator::{Communicator, CommunicatorPointer},
    factors::Factor,
    frame::LARGEST,
    mailbox::UnderWay,
    membership::Membership,
    moves,
    plan::{Block, Plan, Reduction},
    reduction::{self, Operator},
    status::Failure,
};

/// One call of one rank.
#[derive(Clone, Debug)]
pub(crate) struct Operation {
    pub call: Call,
    pub communicator: CommunicatorPointer,
    pub stream: CUstream,
    pub plan: Plan,
}

/// Carries out the operations of a group, or one. Larger blocks than ranks exchange stay where they
/// are, and nobody waits for them.
pub(crate) fn carry_out(operations: &[Operation]) -> Result<(), Failure> {
    // PyTorch makes a group of each call that is in no batch.
    let alone = matches!(operations, [Operation { call: Call::Receive, .. }]);
    let small = |it: &&Operation| (1..=LARGEST).contains(&it.plan.bytes);
    // All begin before the first one sends and last until the end: a thread that aborts one of the
    // communicators frees none while this thread uses it.
    let begin = |it| Begun::new(it, alone);
    let begun: Vec<Begun<'_>> =
        operations.iter().filter(small).map(begin).collect::<Result<_, _>>()?;
    begun.iter().try_for_each(|it| it.within(|| it.send()))?;
    begun.iter().try_for_each(|it| it.within(|| it.receive()))
}

/// An operation under way.
struct Begun<'group> {
    operation: &'group Operation,
    /// A receive without other calls: the peer may send only after what this rank does next.
    alone: bool,
    communicator: &'group Communicator,
    /// Nothing where ranks cannot exchange messages. The communicator is not freed before this is.
    membership: Option<(&'group Membership, UnderWay<'group>)>,
}

impl<'group> Begun<'group> {
    fn new(operation: &'group Operation, alone: bool) -> Result<Self, Failure> {
        let communicator: &'group Communicator = operation.communicator.get()?;
        let enter = |it: &'group Membership| it.enter().map(|under_way| (it, under_way));
        let membership = communicator.membership().map(enter).transpose()?;
        Ok(Self { operation, alone, communicator, membership })
    }

    /// Runs something with the communicator's context current: a group may have several devices.
    fn within(&self, body: impl FnOnce() -> Result<(), Failure>) -> Result<(), Failure> {
        self.communicator.driver().with_context(self.communicator.context, body)
    }

    fn send(&self) -> Result<(), Failure> {
        let Some((membership, _)) = &self.membership else { return Ok(()) };
        let Operation { call, plan, .. } = self.operation;
        // Most calls send one block to all peers, which is read once.
        let mut last: Option<(CUdeviceptr, Vec<u8>)> = None;
        for &Block { peer, at } in &plan.outgoing {
            let bytes = match last.take_if(|(of, _)| *of == at) {
                Some((_, bytes)) => bytes,
                None => self.operation.contribution(self.communicator, at)?,
            };
            membership.send((peer, plan.lane), *call, &bytes)?;
            last = Some((at, bytes));
        }
        Ok(())
    }

    fn receive(&self) -> Result<(), Failure> {
        let (plan, stream) = (&self.operation.plan, self.operation.stream);
        if let Some(reduction) = &plan.reduction {
            return self.reduce(reduction);
        }
        if let Some(both) = plan.own {
            moves::copy(self.communicator, both, plan.bytes, stream)?;
        }
        for block in &plan.incoming {
            if let Some(bytes) = self.take(block.peer)? {
                moves::write(self.communicator, block.at, &bytes, stream)?;
            }
        }
        Ok(())
    }

    /// The next block of a rank; nothing where ranks cannot exchange any, or it came too late.
    fn take(&self, peer: u32) -> Result<Option<Vec<u8>>, Failure> {
        let Some((membership, _)) = &self.membership else { return Ok(None) };
        let Operation { call, plan, .. } = self.operation;
        if self.alone {
            return membership.receive_alone((peer, plan.lane), *call, plan.bytes);
        }
        membership.receive((peer, plan.lane), *call, plan.bytes).map(Some)
    }

    fn reduce(&self, how: &Reduction) -> Result<(), Failure> {
        let Operation { plan, stream, .. } = self.operation;
        let Some((source, target)) = plan.own else { return Ok(()) };
        let mut given = Vec::new();
        // In the order of ranks, so that all of them round alike.
        let mut incoming = plan.incoming.iter().peekable();
        while let Some(block) = incoming.next_if(|block| block.peer < self.communicator.rank) {
            given.extend(self.take(block.peer)?);
        }
        given.push(self.operation.contribution(self.communicator, source)?);
        for block in incoming {
            given.extend(self.take(block.peer)?);
        }
        let operator = Operator::of(how.operation).unwrap_or(Operator::Sum);
        let result = reduction::reduce(how.kind, operator, &given);
        moves::write(self.communicator, target, &result, *stream)
    }
}

impl Operation {
    /// What this rank gives: the bytes at an address, multiplied where the reduction says so.
    pub(crate) fn contribution(
        &self,
        communicator: &Communicator,
        at: u64,
    ) -> Result<Vec<u8>, Failure> {
        let mut bytes = moves::read(communicator, at, self.plan.bytes)?;
        if let Some(Reduction { kind, factor: Some(factor), .. }) = &self.plan.reduction {
            reduction::scale(*kind, &mut bytes, &factor_bytes(communicator, factor, *kind)?);
        }
        Ok(bytes)
    }
}

/// The bytes of a reduction's factor.
fn factor_bytes(
    communicator: &Communicator,
    factor: &Factor,
    kind: u32,
) -> Result<Vec<u8>, Failure> {
    match factor {
        Factor::Immediate(bytes) => Ok(bytes.clone()),
        Factor::OnDevice(at) => moves::read(communicator, *at, moves::bytes(1, kind)?),
    }
}
