//! Sends and receives between two ranks.

use cudarc::driver::sys::{CUdeviceptr, CUstream};
use whyoom_lab_abi::exports;

use crate::{
    communicator::CommunicatorPointer,
    group,
    moves::bytes,
    neighbours::Connection,
    status::{Failure, Status},
    transfers::{Role, Transfer},
};

/// Connects to a peer; the exchange is at the end of the group. Outside of a group a transfer is
/// alone, and has nothing to be exchanged with.
fn begin(peer: u32, connection: Connection, transfer: Transfer) -> Result<(), Failure> {
    let communicator = transfer.communicator.get()?;
    if peer >= communicator.ranks {
        return Err(Failure::InvalidArgument);
    }
    if peer != communicator.rank {
        communicator.connect(&[connection])?;
    }
    group::keep(transfer);
    Ok(())
}

exports! { Status;
    fn ncclSend(
        buffer: CUdeviceptr, count: usize, kind: u32, peer: u32,
        communicator: CommunicatorPointer, stream: CUstream,
    ) {
        let (role, bytes) = (Role::Send(peer), bytes(count, kind)?);
        let transfer = Transfer { role, buffer, bytes, communicator, stream };
        begin(peer, Connection::PairSend(peer), transfer)
    }
    fn ncclRecv(
        buffer: CUdeviceptr, count: usize, kind: u32, peer: u32,
        communicator: CommunicatorPointer, stream: CUstream,
    ) {
        let (role, bytes) = (Role::Receive(peer), bytes(count, kind)?);
        let transfer = Transfer { role, buffer, bytes, communicator, stream };
        begin(peer, Connection::PairReceive(peer), transfer)
    }
}
