//! Collectives: each gives this rank what it would get if all ranks held the same.

use cudarc::driver::sys::{CUdeviceptr, CUstream};
use whyoom_lab_abi::exports;

use crate::{
    communicator::{Communicator, CommunicatorPointer},
    group,
    moves::{bytes, copy},
    neighbours::{Connection, ring, tree},
    status::{Failure, Status},
    transfers::{Role, Transfer},
};

/// Takes part in the ring.
fn joined<'call>(communicator: CommunicatorPointer) -> Result<&'call Communicator, Failure> {
    let communicator = communicator.get()?;
    communicator.connect(&ring(communicator.rank, communicator.ranks))?;
    Ok(communicator)
}

/// Takes part in the ring and in the tree.
fn joined_for_reduction<'call>(
    communicator: CommunicatorPointer,
) -> Result<&'call Communicator, Failure> {
    let communicator = joined(communicator)?;
    communicator.connect(&tree(communicator.rank, communicator.ranks))?;
    Ok(communicator)
}

/// Connects to every other rank, as exchanges between all pairs do.
fn joined_with_all<'call>(
    communicator: CommunicatorPointer,
) -> Result<&'call Communicator, Failure> {
    let communicator = communicator.get()?;
    let others = (0..communicator.ranks).filter(|&peer| peer != communicator.rank);
    let both = |peer| [Connection::PairSend(peer), Connection::PairReceive(peer)];
    communicator.connect(&others.flat_map(both).collect::<Vec<_>>())?;
    Ok(communicator)
}

/// One block into each rank's slot, on one stream.
fn fill_slots(
    communicator: &Communicator,
    (source, target): (CUdeviceptr, CUdeviceptr),
    each: usize,
    stream: CUstream,
) -> Result<(), Failure> {
    (0..u64::from(communicator.ranks)).try_for_each(|slot| {
        copy(communicator, (source, target + slot * each as u64), each, stream)
    })
}

exports! { Status;
    fn ncclAllReduce(
        source: CUdeviceptr, target: CUdeviceptr, count: usize, kind: u32, _operation: u32,
        communicator: CommunicatorPointer, stream: CUstream,
    ) {
        copy(joined_for_reduction(communicator)?, (source, target), bytes(count, kind)?, stream)
    }
    // Only the root gets the result.
    fn ncclReduce(
        source: CUdeviceptr, target: CUdeviceptr, count: usize, kind: u32, _operation: u32,
        root: u32, communicator: CommunicatorPointer, stream: CUstream,
    ) {
        let communicator = joined(communicator)?;
        let target = if communicator.rank == root { target } else { 0 };
        copy(communicator, (source, target), bytes(count, kind)?, stream)
    }
    // Only the root has a source. The others keep what they have, which is alike; but where every
    // rank broadcasts in one group, as programs do to gather, they get what they broadcast.
    fn ncclBroadcast(
        source: CUdeviceptr, target: CUdeviceptr, count: usize, kind: u32, root: u32,
        communicator: CommunicatorPointer, stream: CUstream,
    ) {
        let (joined, bytes) = (joined(communicator)?, bytes(count, kind)?);
        let is_root = joined.rank == root;
        let (role, buffer) = if is_root { (Role::Offer, source) } else { (Role::Accept, target) };
        group::keep(Transfer { role, buffer, bytes, communicator, stream });
        copy(joined, (if is_root { source } else { 0 }, target), bytes, stream)
    }
    fn ncclBcast(
        _buffer: CUdeviceptr, count: usize, kind: u32, _root: u32,
        communicator: CommunicatorPointer, _stream: CUstream,
    ) {
        bytes(count, kind)?;
        joined(communicator).map(drop)
    }
    fn ncclReduceScatter(
        source: CUdeviceptr, target: CUdeviceptr, count: usize, kind: u32, _operation: u32,
        communicator: CommunicatorPointer, stream: CUstream,
    ) {
        let (communicator, each) = (joined(communicator)?, bytes(count, kind)?);
        let own = source + u64::from(communicator.rank) * each as u64;
        copy(communicator, (own, target), each, stream)
    }
    fn ncclAllGather(
        source: CUdeviceptr, target: CUdeviceptr, count: usize, kind: u32,
        communicator: CommunicatorPointer, stream: CUstream,
    ) {
        fill_slots(joined(communicator)?, (source, target), bytes(count, kind)?, stream)
    }
    fn ncclGather(
        source: CUdeviceptr, target: CUdeviceptr, count: usize, kind: u32, root: u32,
        communicator: CommunicatorPointer, stream: CUstream,
    ) {
        let communicator = joined_with_all(communicator)?;
        let each = bytes(count, kind)?;
        if communicator.rank != root {
            return Ok(());
        }
        fill_slots(communicator, (source, target), each, stream)
    }
    fn ncclScatter(
        source: CUdeviceptr, target: CUdeviceptr, count: usize, kind: u32, root: u32,
        communicator: CommunicatorPointer, stream: CUstream,
    ) {
        let communicator = joined_with_all(communicator)?;
        let each = bytes(count, kind)?;
        let own = source + u64::from(root) * each as u64;
        let source = if communicator.rank == root { own } else { 0 };
        copy(communicator, (source, target), each, stream)
    }
    // What the others send to this rank is what it sends to them.
    fn ncclAlltoAll(
        source: CUdeviceptr, target: CUdeviceptr, count: usize, kind: u32,
        communicator: CommunicatorPointer, stream: CUstream,
    ) {
        let communicator = joined_with_all(communicator)?;
        let all = bytes(count, kind)? * communicator.ranks as usize;
        copy(communicator, (source, target), all, stream)
    }
    // Reductions compute nothing, so that one number stands for all of them.
    fn ncclRedOpCreatePreMulSum(
        operation: whyoom_lab_abi::Out<u32>, _scalar: usize, _kind: u32, _where: u32,
        communicator: CommunicatorPointer,
    ) {
        communicator.get()?;
        Ok(operation.put(FIRST_OWN_OPERATION)?)
    }
    fn ncclRedOpDestroy(_operation: u32, communicator: CommunicatorPointer) {
        communicator.get().map(drop)
    }
}

/// The first number that is not a built-in `ncclRedOp_t`.
const FIRST_OWN_OPERATION: u32 = 5;
