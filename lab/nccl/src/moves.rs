//! Data between a rank's own buffers, and to and from messages.

use cudarc::driver::sys::{CUdeviceptr, CUstream};

use crate::{communicator::Communicator, driver::done, frame::LARGEST, status::Failure};

/// The bytes of so many elements of an `ncclDataType_t`.
pub(crate) fn bytes(count: usize, kind: u32) -> Result<usize, Failure> {
    let each = match kind {
        0 | 1 | 10 | 11 => 1,
        6 | 9 => 2,
        2 | 3 | 7 => 4,
        4 | 5 | 8 => 8,
        _ => return Err(Failure::InvalidArgument),
    };
    count.checked_mul(each).ok_or(Failure::InvalidArgument)
}

/// A copy on a stream; none where source and target are the same, absent, or large.
pub(crate) fn copy(
    communicator: &Communicator,
    (source, target): (CUdeviceptr, CUdeviceptr),
    bytes: usize,
    stream: CUstream,
) -> Result<(), Failure> {
    if source == target || source == 0 || target == 0 || !(1..=LARGEST).contains(&bytes) {
        return Ok(());
    }
    // SAFETY: the addresses are the caller's, who vouches for them by the contract of the NCCL
    // function that was called; the driver refuses what it does not know.
    done(unsafe { (communicator.driver().copy)(target, source, bytes, stream) })
}

/// What is in device memory now. The lab does all work of a stream when it is submitted, so that
/// what precedes a call in its stream is done.
pub(crate) fn read(
    communicator: &Communicator,
    at: CUdeviceptr,
    bytes: usize,
) -> Result<Vec<u8>, Failure> {
    with_bytes(communicator, at, bytes, <[u8]>::to_vec)
}

/// Looks at what is in device memory now.
fn with_bytes<T>(
    communicator: &Communicator,
    at: CUdeviceptr,
    bytes: usize,
    look: impl FnOnce(&[u8]) -> T,
) -> Result<T, Failure> {
    let mut known = at;
    let end = at.checked_add(bytes as u64).ok_or(Failure::InvalidArgument)?;
    while known < end {
        known = communicator.driver().range_end(known)?;
    }
    // Not by a copy of the driver's: the lab would count it as a value that the program read.
    // SAFETY: the driver says that the whole range is live, and simulated memory can be read by its
    // address. The caller vouches that it stays live while the call lasts.
    Ok(look(unsafe { std::slice::from_raw_parts(at as *const u8, bytes) }))
}

/// Writes into device memory, on a stream. Not where the same is there: what is all zeros takes no
/// memory of the host until somebody writes to it.
pub(crate) fn write(
    communicator: &Communicator,
    at: CUdeviceptr,
    bytes: &[u8],
    stream: CUstream,
) -> Result<(), Failure> {
    // Where this fails, the copy says why.
    if with_bytes(communicator, at, bytes.len(), |held| held == bytes) == Ok(true) {
        return Ok(());
    }
    copy(communicator, (bytes.as_ptr() as CUdeviceptr, at), bytes.len(), stream)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_have_the_documented_sizes() {
        // int8 uint8 int32 uint32 int64 uint64 float16 float32 float64 bfloat16 e4m3 e5m2
        let sizes = (0..12).map(|kind| bytes(1, kind)).collect::<Result<Vec<_>, _>>();
        assert_eq!(sizes, Ok(vec![1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1]));
        assert_eq!(bytes(1, 12), Err(Failure::InvalidArgument));
        assert_eq!(bytes(usize::MAX, 7), Err(Failure::InvalidArgument));
    }
}
