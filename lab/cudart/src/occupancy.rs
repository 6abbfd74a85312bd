//! Occupancy: how many blocks or clusters of a kernel fit at once.

use std::ffi::c_void;

use cudarc::runtime::sys::cudaLaunchConfig_st;
use whyoom_lab_abi::{In, Out, exports};

use crate::{
    context,
    error::{Failure, Status},
    function, launch,
};

exports! { Status;
    fn cudaOccupancyMaxActiveBlocksPerMultiprocessor(blocks: Out<i32>, kernel: *const c_void, size: i32, shared: usize) {
        active_blocks(blocks, kernel, size, shared, 0)
    }

    fn cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks: Out<i32>, kernel: *const c_void, size: i32, shared: usize, flags: u32) {
        active_blocks(blocks, kernel, size, shared, flags)
    }

    fn cudaOccupancyAvailableDynamicSMemPerBlock(shared: Out<usize>, kernel: *const c_void, blocks: i32, size: i32) {
        let current = context::current()?;
        current.cuOccupancyAvailableDynamicSMemPerBlock(shared.0, function::resolved(&current, kernel)?, blocks, size)
    }

    fn cudaOccupancyMaxPotentialClusterSize(size: Out<i32>, kernel: *const c_void, config: In<cudaLaunchConfig_st>) {
        let current = context::current()?;
        let config = launch::driver_configuration(&config.get()?)?;
        current.cuOccupancyMaxPotentialClusterSize(size.0, function::resolved(&current, kernel)?, &config)
    }

    fn cudaOccupancyMaxActiveClusters(clusters: Out<i32>, kernel: *const c_void, config: In<cudaLaunchConfig_st>) {
        let current = context::current()?;
        let config = launch::driver_configuration(&config.get()?)?;
        current.cuOccupancyMaxActiveClusters(clusters.0, function::resolved(&current, kernel)?, &config)
    }
}

fn active_blocks(
    blocks: Out<i32>,
    kernel: *const c_void,
    size: i32,
    shared: usize,
    flags: u32,
) -> Result<(), Failure> {
    let current = context::current()?;
    let function = function::resolved(&current, kernel)?;
    current.cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
        blocks.0, function, size, shared, flags,
    )
}
