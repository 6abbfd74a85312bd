//! Collectives. A rank waits for the data that it gets, and for nothing else: the root of a broadcast
//! goes on, the other ranks wait for it.

use cudarc::driver::sys::{CUdeviceptr, CUstream};
use whyoom_lab_abi::{In, Out, exports};

use crate::{
    calls::Call,
    communicator::{Communicator, CommunicatorPointer},
    exchange::Operation,
    factors::Factor,
    group,
    moves::bytes,
    neighbours::{Connection, ring, tree},
    plan::{Buffers, Plan, Reduction, Seat},
    status::{Failure, Status},
};

/// `ncclScalarDevice`: the number is in device memory.
const ON_DEVICE: u32 = 0;

/// A communicator and the stream that it works on.
#[derive(Clone, Copy)]
struct Target {
    communicator: CommunicatorPointer,
    stream: CUstream,
}

impl Target {
    /// Takes part in the ring.
    fn ring(self) -> Result<(Self, Seat), Failure> {
        let it = self.communicator.get()?;
        it.connect(&ring(it.rank, it.ranks))?;
        Ok((self, seat(it)))
    }

    /// Takes part in the ring and in the tree.
    fn tree(self) -> Result<(Self, Seat), Failure> {
        let joined = self.ring()?;
        let it = self.communicator.get()?;
        it.connect(&tree(it.rank, it.ranks))?;
        Ok(joined)
    }

    /// Connects to every other rank, as exchanges between all pairs do.
    fn all(self) -> Result<(Self, Seat), Failure> {
        let it = self.communicator.get()?;
        let others = (0..it.ranks).filter(|&peer| peer != it.rank);
        let both = |peer| [Connection::PairSend(peer), Connection::PairReceive(peer)];
        it.connect(&others.flat_map(both).collect::<Vec<_>>())?;
        Ok((self, seat(it)))
    }

    fn run(self, call: Call, plan: Plan) -> Result<(), Failure> {
        let Self { communicator, stream } = self;
        group::submit(Operation { call, communicator, stream, plan })
    }

    /// A reduction that exists.
    fn reduction(self, kind: u32, operation: u32) -> Result<Reduction, Failure> {
        let factor = self.communicator.get()?.factors.get(operation)?;
        Ok(Reduction { kind, operation, factor })
    }
}

fn seat(communicator: &Communicator) -> Seat {
    Seat { rank: communicator.rank, ranks: communicator.ranks }
}

fn buffers(
    source: CUdeviceptr,
    target: CUdeviceptr,
    (count, kind): (usize, u32),
) -> Result<Buffers, Failure> {
    Ok(Buffers { source, target, bytes: bytes(count, kind)? })
}

/// A root that exists.
fn root_in(seat: Seat, root: u32) -> Result<u32, Failure> {
    if root < seat.ranks { Ok(root) } else { Err(Failure::InvalidArgument) }
}

exports! { Status;
    fn ncclAllReduce(
        source: CUdeviceptr, target: CUdeviceptr, count: usize, kind: u32, operation: u32,
        communicator: CommunicatorPointer, stream: CUstream,
    ) {
        let buffers = buffers(source, target, (count, kind))?;
        let (on, seat) = Target { communicator, stream }.tree()?;
        let reduction = on.reduction(kind, operation)?;
        on.run(Call::AllReduce, Plan::all_reduce(seat, buffers, reduction))
    }
    // Only the root gets the result.
    fn ncclReduce(
        source: CUdeviceptr, target: CUdeviceptr, count: usize, kind: u32, operation: u32,
        root: u32, communicator: CommunicatorPointer, stream: CUstream,
    ) {
        let buffers = buffers(source, target, (count, kind))?;
        let (on, seat) = Target { communicator, stream }.ring()?;
        let (root, reduction) = (root_in(seat, root)?, on.reduction(kind, operation)?);
        on.run(Call::Reduce, Plan::reduce(seat, root, buffers, reduction))
    }
    // Only the root has a source.
    fn ncclBroadcast(
        source: CUdeviceptr, target: CUdeviceptr, count: usize, kind: u32, root: u32,
        communicator: CommunicatorPointer, stream: CUstream,
    ) {
        let buffers = buffers(source, target, (count, kind))?;
        let (on, seat) = Target { communicator, stream }.ring()?;
        on.run(Call::Broadcast, Plan::broadcast(seat, root_in(seat, root)?, buffers))
    }
    fn ncclBcast(
        buffer: CUdeviceptr, count: usize, kind: u32, root: u32,
        communicator: CommunicatorPointer, stream: CUstream,
    ) {
        let buffers = buffers(buffer, buffer, (count, kind))?;
        let (on, seat) = Target { communicator, stream }.ring()?;
        on.run(Call::Broadcast, Plan::broadcast(seat, root_in(seat, root)?, buffers))
    }
    fn ncclReduceScatter(
        source: CUdeviceptr, target: CUdeviceptr, count: usize, kind: u32, operation: u32,
        communicator: CommunicatorPointer, stream: CUstream,
    ) {
        let buffers = buffers(source, target, (count, kind))?;
        let (on, seat) = Target { communicator, stream }.ring()?;
        let reduction = on.reduction(kind, operation)?;
        on.run(Call::ReduceScatter, Plan::reduce_scatter(seat, buffers, reduction))
    }
    fn ncclAllGather(
        source: CUdeviceptr, target: CUdeviceptr, count: usize, kind: u32,
        communicator: CommunicatorPointer, stream: CUstream,
    ) {
        let buffers = buffers(source, target, (count, kind))?;
        let (on, seat) = Target { communicator, stream }.ring()?;
        on.run(Call::AllGather, Plan::all_gather(seat, buffers))
    }
    fn ncclGather(
        source: CUdeviceptr, target: CUdeviceptr, count: usize, kind: u32, root: u32,
        communicator: CommunicatorPointer, stream: CUstream,
    ) {
        let buffers = buffers(source, target, (count, kind))?;
        let (on, seat) = Target { communicator, stream }.all()?;
        on.run(Call::Gather, Plan::gather(seat, root_in(seat, root)?, buffers))
    }
    fn ncclScatter(
        source: CUdeviceptr, target: CUdeviceptr, count: usize, kind: u32, root: u32,
        communicator: CommunicatorPointer, stream: CUstream,
    ) {
        let buffers = buffers(source, target, (count, kind))?;
        let (on, seat) = Target { communicator, stream }.all()?;
        on.run(Call::Scatter, Plan::scatter(seat, root_in(seat, root)?, buffers))
    }
    fn ncclAlltoAll(
        source: CUdeviceptr, target: CUdeviceptr, count: usize, kind: u32,
        communicator: CommunicatorPointer, stream: CUstream,
    ) {
        let buffers = buffers(source, target, (count, kind))?;
        let (on, seat) = Target { communicator, stream }.all()?;
        on.run(Call::AllToAll, Plan::all_to_all(seat, buffers))
    }
    fn ncclRedOpCreatePreMulSum(
        operation: Out<u32>, scalar: CUdeviceptr, kind: u32, residence: u32,
        communicator: CommunicatorPointer,
    ) {
        let factor = if residence == ON_DEVICE {
            Factor::OnDevice(scalar)
        } else {
            Factor::Immediate(In(scalar as *const u8).list(bytes(1, kind)?)?)
        };
        if operation.is_null() {
            return Err(Failure::InvalidArgument);
        }
        Ok(operation.put(communicator.get()?.factors.add(factor))?)
    }
    fn ncclRedOpDestroy(operation: u32, communicator: CommunicatorPointer) {
        communicator.get()?.factors.remove(operation)
    }
}
