//! Sends and receives between two ranks.

use cudarc::driver::sys::{CUdeviceptr, CUstream};
use whyoom_lab_abi::exports;

use crate::{
    calls::Call,
    communicator::CommunicatorPointer,
    exchange::Operation,
    group,
    moves::bytes,
    neighbours::Connection,
    plan::Plan,
    status::{Failure, Status},
};

/// Connects to a peer and exchanges a block with it.
fn begin(connection: Connection, operation: Operation) -> Result<(), Failure> {
    let communicator = operation.communicator.get()?;
    let peer = connection.peer();
    if peer >= communicator.ranks {
        return Err(Failure::InvalidArgument);
    }
    if peer != communicator.rank {
        communicator.connect(&[connection])?;
    }
    group::submit(operation)
}

exports! { Status;
    // Does not wait: the message is kept until the peer receives it.
    fn ncclSend(
        buffer: CUdeviceptr, count: usize, kind: u32, peer: u32,
        communicator: CommunicatorPointer, stream: CUstream,
    ) {
        let plan = Plan::send(peer, buffer, bytes(count, kind)?);
        begin(
            Connection::PairSend(peer),
            Operation { call: Call::Send, communicator, stream, plan },
        )
    }
    fn ncclRecv(
        buffer: CUdeviceptr, count: usize, kind: u32, peer: u32,
        communicator: CommunicatorPointer, stream: CUstream,
    ) {
        let plan = Plan::receive(peer, buffer, bytes(count, kind)?);
        begin(
            Connection::PairReceive(peer),
            Operation { call: Call::Receive, communicator, stream, plan },
        )
    }
}
