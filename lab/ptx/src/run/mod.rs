//! Launches.

mod access;
mod block;
mod launch;
mod matrix;
mod thread;
mod warp;

use self::block::Block;
pub use self::launch::{Launch, Memory, Wild};
use crate::{error::Fault, kernel::Kernel};

/// Instructions of all threads of a launch, at most. The lab is for memory, not for computing.
pub const WORK_LIMIT: u64 = 1 << 22;
/// The same for kernels that compute with floating-point numbers, whose results hardly any program decides by.
pub const FLOAT_WORK_LIMIT: u64 = 1 << 18;
/// A block's threads, and the bytes that they need.
const MOST_THREADS: u64 = 1024;
const MOST_BYTES: u64 = 64 << 20;
/// Loops may go on for so many times a launch's length without them.
const LOOPS: u64 = 4;

impl Kernel {
    /// The most instructions that one launch may take.
    fn limit(&self) -> u64 {
        if self.computes_floats() { FLOAT_WORK_LIMIT } else { WORK_LIMIT }
    }

    /// Whether a launch is small enough to be run.
    #[must_use]
    pub fn is_small(&self, launch: &Launch) -> bool {
        let of_thread = (self.registers * 8 + self.local) as u64;
        let shared = self.shared as u64 + u64::from(launch.shared);
        let bytes = launch.threads().saturating_mul(of_thread).saturating_add(shared);
        launch.threads() <= MOST_THREADS && bytes <= MOST_BYTES && launch.work(self) <= self.limit()
    }

    /// Runs a launch, block by block, and tells how many instructions that took.
    pub fn run(&self, launch: &Launch, memory: &mut dyn Memory) -> Result<u64, Fault> {
        if !self.is_small(launch) {
            return Err(Fault::TooLarge);
        }
        let declared = self.parameters.last().map_or(0, |(start, size)| start + size);
        if launch.parameters.len() < declared {
            return Err(Fault::Parameters);
        }
        let limit = self.limit() * LOOPS;
        let mut block = Block::new(self, launch, memory, limit);
        for z in 0..launch.grid[2] {
            for y in 0..launch.grid[1] {
                for x in 0..launch.grid[0] {
                    block.run([x, y, z])?;
                }
            }
        }
        Ok(limit - block.budget)
    }
}

#[cfg(test)]
mod tests;
