//! Carries out operations: everything that this thread sends, then all that it waits for. With
//! several communicators in one thread, none can thus wait for another.

use cudarc::driver::sys::CUstream;

use crate::{
    calls::Call,
    communicator::{Communicator, CommunicatorPointer},
    factors::Factor,
    frame::LARGEST,
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
    let small = |it: &&Operation| (1..=LARGEST).contains(&it.plan.bytes);
    let operations: Vec<&Operation> = operations.iter().filter(small).collect();
    for operation in &operations {
        operation.within(|communicator| operation.send(communicator))?;
    }
    for operation in &operations {
        operation.within(|communicator| operation.receive(communicator))?;
    }
    Ok(())
}

impl Operation {
    /// Runs something with the communicator's context current: a group may have several devices.
    fn within(
        &self,
        body: impl FnOnce(&Communicator) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let communicator = self.communicator.get()?;
        // Keeps the communicator alive if another thread aborts it.
        let under_way = communicator.membership().map(Membership::enter).transpose()?;
        let done = communicator.driver().with_context(communicator.context, || body(communicator));
        drop(under_way);
        done
    }

    fn send(&self, communicator: &Communicator) -> Result<(), Failure> {
        let Some(membership) = communicator.membership() else { return Ok(()) };
        for &Block { peer, at } in &self.plan.outgoing {
            let bytes = self.contribution(communicator, at)?;
            membership.send((peer, self.plan.lane), self.call, bytes)?;
        }
        Ok(())
    }

    /// What this rank gives: the bytes at an address, multiplied where the reduction says so.
    fn contribution(&self, communicator: &Communicator, at: u64) -> Result<Vec<u8>, Failure> {
        let mut bytes = moves::read(communicator, at, self.plan.bytes)?;
        if let Some(Reduction { kind, operation }) = self.plan.reduction
            && let Some(factor) = factor(communicator, operation, kind)?
        {
            reduction::scale(kind, &mut bytes, &factor);
        }
        Ok(bytes)
    }

    fn receive(&self, communicator: &Communicator) -> Result<(), Failure> {
        if let Some(reduction) = self.plan.reduction {
            return self.reduce(communicator, reduction);
        }
        if let Some(both) = self.plan.own {
            moves::copy(communicator, both, self.plan.bytes, self.stream)?;
        }
        for block in &self.plan.incoming {
            let bytes = self.take(communicator, block.peer)?;
            if let Some(bytes) = bytes {
                moves::write(communicator, block.at, &bytes, self.stream)?;
            }
        }
        Ok(())
    }

    /// The next block of a rank; nothing where ranks cannot exchange any.
    fn take(&self, communicator: &Communicator, peer: u32) -> Result<Option<Vec<u8>>, Failure> {
        let Some(membership) = communicator.membership() else { return Ok(None) };
        membership.receive((peer, self.plan.lane), self.call, self.plan.bytes).map(Some)
    }

    fn reduce(&self, communicator: &Communicator, how: Reduction) -> Result<(), Failure> {
        let Some((source, target)) = self.plan.own else { return Ok(()) };
        let mut given = Vec::new();
        // In the order of ranks, so that all of them round alike.
        let mut incoming = self.plan.incoming.iter().peekable();
        while let Some(block) = incoming.next_if(|block| block.peer < communicator.rank) {
            given.extend(self.take(communicator, block.peer)?);
        }
        given.push(self.contribution(communicator, source)?);
        for block in incoming {
            given.extend(self.take(communicator, block.peer)?);
        }
        let operator = Operator::of(how.operation).unwrap_or(Operator::Sum);
        let result = reduction::reduce(how.kind, operator, &given);
        moves::write(communicator, target, &result, self.stream)
    }
}

/// The bytes of a reduction's factor; nothing for those that are built in.
fn factor(
    communicator: &Communicator,
    operation: u32,
    kind: u32,
) -> Result<Option<Vec<u8>>, Failure> {
    Ok(match communicator.factors.get(operation) {
        None => None,
        Some(Factor::Immediate(bytes)) => Some(bytes),
        Some(Factor::OnDevice(at)) => Some(moves::read(communicator, at, moves::bytes(1, kind)?)?),
    })
}
