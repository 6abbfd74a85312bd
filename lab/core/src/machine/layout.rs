//! The state file: what the processes of one lab share.
//!
//! Three rules keep it whole although any process may be killed between any two instructions, and harmless
//! although any user of a shared lab may write anything there:
//!
//! - Every field is one atomic word, so no field is ever half written, and any bytes are valid.
//! - Nothing is stored that could be derived. What a device has in use is the sum over the records
//!   of living processes; a dead process's record counts for nothing, whatever state it is in.
//! - Nothing that is read there is believed: numbers of records are bounded, and so are amounts.

use std::sync::atomic::{AtomicU32, AtomicU64};

use super::{
    limits::{MAX_DEVICES, MAX_PROCESSES, MAX_SHARED},
    lock::OwnerLock,
    spec_words::SPEC_WORDS,
};

/// Tells a state file from another file; the last byte is the layout's version.
pub(super) const MAGIC: u64 = u64::from_be_bytes(*b"whylab\0\x06");

/// The whole file.
#[repr(C)]
pub(super) struct StateFile {
    /// Written last when the file is made.
    pub(super) magic: AtomicU64,
    /// What the machine is made of. Read once by each process, and never changed.
    pub(super) spec: [AtomicU64; SPEC_WORDS],
    pub(super) lock: OwnerLock,
    /// Process records beyond this have never been used.
    pub(super) high_water: AtomicU64,
    /// Records of shared memory beyond this have never been used.
    pub(super) shared_high_water: AtomicU64,
    /// Allocations so far.
    pub(super) allocations: AtomicU64,
    /// Mappings of virtual memory so far.
    pub(super) mappings: AtomicU64,
    pub(super) observations: ObservationRecord,
    pub(super) processes: [ProcessRecord; MAX_PROCESSES],
    pub(super) shared: [SharedRecord; MAX_SHARED],
}

/// What one process holds.
#[repr(C)]
pub(super) struct ProcessRecord {
    /// 0 where the record is free; written last when it is taken.
    pub(super) pid: AtomicU32,
    /// 1 for a holder that the operating system does not know, which is never reaped.
    pub(super) ghost: AtomicU32,
    /// When the process started, in the kernel's clock ticks: a number can be given twice.
    pub(super) started: AtomicU64,
    /// The namespace that its number is of.
    pub(super) namespace: AtomicU64,
    /// A bit for each device that it has a context on.
    pub(super) contexts: AtomicU64,
    /// Bytes held on each device, contexts included.
    pub(super) used: [AtomicU64; MAX_DEVICES],
}

/// Physical memory that was exported: it lives as long as one of its holders does.
#[repr(C)]
pub(super) struct SharedRecord {
    /// 0 where the record is free; written last when it is taken.
    pub(super) bytes: AtomicU64,
    pub(super) device: AtomicU64,
    /// The file behind it (its inode), and where in that file it starts.
    pub(super) file: AtomicU64,
    pub(super) offset: AtomicU64,
    /// A bit for each process record that holds it.
    pub(super) holders: [AtomicU64; MAX_PROCESSES / 64],
}

/// What was seen of the programs so far, whoever of them is still alive.
#[repr(C)]
pub(super) struct ObservationRecord {
    /// Copies of a device's memory to the host.
    pub(super) read_backs: AtomicU64,
    /// Questions how much memory is free.
    pub(super) free_queries: AtomicU64,
    /// Launches of kernels in PTX, computed and not.
    pub(super) launches_computed: AtomicU64,
    pub(super) launches_skipped: AtomicU64,
    /// The most that was in use on each device at a time.
    pub(super) peak_used: [AtomicU64; MAX_DEVICES],
}
