//! What is launched, and the memory that it reads and writes.

use crate::kernel::Kernel;

/// An access outside of what exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wild;

/// Global memory. Every access of a kernel comes here, and only what exists may be answered.
pub trait Memory {
    /// Reads as many bytes as there is room for.
    fn read(&mut self, address: u64, bytes: &mut [u8]) -> Result<(), Wild>;
    /// Writes bytes.
    fn write(&mut self, address: u64, bytes: &[u8]) -> Result<(), Wild>;
}

/// A launch of a kernel.
#[derive(Clone, Debug, Default)]
pub struct Launch {
    /// Blocks.
    pub grid: [u32; 3],
    /// Threads of a block.
    pub block: [u32; 3],
    /// Shared memory of a block that the launch adds to what the kernel declares.
    pub shared: u32,
    /// The parameters as the kernel reads them: see `Kernel::packed`.
    pub parameters: Vec<u8>,
}

impl Launch {
    pub(super) fn threads(&self) -> u64 {
        product(self.block)
    }

    /// The instructions that it takes without loops and branches, at most.
    pub(super) fn work(&self, kernel: &Kernel) -> u64 {
        let threads = product(self.grid).saturating_mul(self.threads());
        threads.saturating_mul(kernel.code.len() as u64)
    }
}

fn product(sides: [u32; 3]) -> u64 {
    sides.iter().map(|side| u64::from(*side)).fold(1, u64::saturating_mul)
}
