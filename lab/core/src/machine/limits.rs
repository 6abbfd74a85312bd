//! How much the state file has room for.

/// As many devices as the largest single machines have.
pub const MAX_DEVICES: usize = 16;
/// So many processes can use one lab at a time.
pub const MAX_PROCESSES: usize = 512;
/// So many allocations can be shared between processes at a time.
pub(super) const MAX_SHARED: usize = 4096;
/// So many kernels can be given an effect.
pub(super) const MAX_EFFECTS: usize = 16;
/// More than any device has, and so little that no sum over all records overflows.
pub(super) const MAX_BYTES: u64 = 1 << 50;
