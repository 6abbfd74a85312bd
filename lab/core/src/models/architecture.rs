//! What all GPUs of one compute capability have in common.

use super::{Figure, Source};

/// The limits of one multiprocessor, by compute capability.
#[derive(Debug, Clone, Copy)]
pub(super) struct Architecture {
    pub(super) compute_capability: (u8, u8),
    pub(super) shared_per_block_optin: Figure<u32>,
    pub(super) shared_per_multiprocessor: Figure<u32>,
    pub(super) threads_per_multiprocessor: Figure<u32>,
    pub(super) registers_per_multiprocessor: Figure<u32>,
}

pub(super) const PASCAL: Architecture = limits((6, 1), 48, 96, 2048);
pub(super) const VOLTA: Architecture = limits((7, 0), 96, 96, 2048);
pub(super) const TURING: Architecture = limits((7, 5), 64, 64, 1024);
pub(super) const AMPERE: Architecture = limits((8, 0), 163, 164, 2048);
pub(super) const AMPERE_GA10X: Architecture = limits((8, 6), 99, 100, 1536);
pub(super) const ADA: Architecture = limits((8, 9), 99, 100, 1536);
pub(super) const HOPPER: Architecture = limits((9, 0), 227, 228, 2048);
pub(super) const BLACKWELL: Architecture = limits((10, 0), 227, 228, 2048);
pub(super) const BLACKWELL_RTX: Architecture = limits((12, 0), 99, 100, 1536);

/// The same on every architecture listed here.
const REGISTERS: u32 = 65_536;

/// One column of the guide's table; shared memory in KiB.
const fn limits(
    compute_capability: (u8, u8),
    shared_per_block_optin: u32,
    shared_per_multiprocessor: u32,
    threads_per_multiprocessor: u32,
) -> Architecture {
    Architecture {
        compute_capability,
        shared_per_block_optin: guide(shared_per_block_optin * 1024),
        shared_per_multiprocessor: guide(shared_per_multiprocessor * 1024),
        threads_per_multiprocessor: guide(threads_per_multiprocessor),
        registers_per_multiprocessor: guide(REGISTERS),
    }
}

const fn guide(value: u32) -> Figure<u32> {
    Figure {
        value,
        source: Source::Documented(
            "CUDA C++ Programming Guide, technical specifications per compute capability",
        ),
    }
}
