//! Launches of kernels.

use std::{ffi::c_void, ptr};

use cudarc::{
    driver::sys::{CUkernel, CUlaunchConfig, CUstream},
    runtime::sys::{cudaLaunchConfig_st, dim3},
};
use whyoom_lab_abi::{In, Out, exports};

use crate::{
    context,
    error::{Failure, Status},
    function, registry,
};

exports! { Status;
    fn cudaLaunchKernel(kernel: *const c_void, grid: dim3, block: dim3, arguments: *mut *mut c_void, shared: usize, stream: CUstream) {
        launch(kernel, grid, block, arguments, shared, stream)
    }

    // What compiled code calls for `<<<...>>>`, with the handle that `__cudaGetKernel` gave.
    fn __cudaLaunchKernel(kernel: *const c_void, grid: dim3, block: dim3, arguments: *mut *mut c_void, shared: usize, stream: CUstream) {
        launch(kernel, grid, block, arguments, shared, stream)
    }

    fn __cudaGetKernel(kernel: Out<CUkernel>, stub: *const c_void) { get_kernel(kernel, stub) }

    fn cudaGetKernel(kernel: Out<CUkernel>, stub: *const c_void) { get_kernel(kernel, stub) }

    fn cudaLaunchCooperativeKernel(kernel: *const c_void, grid: dim3, block: dim3, arguments: *mut *mut c_void, shared: usize, stream: CUstream) {
        let current = context::current()?;
        let function = function::resolved(&current, kernel)?;
        let shared = shared_size(shared)?;
        current.cuLaunchCooperativeKernel(
            function, grid.x, grid.y, grid.z, block.x, block.y, block.z, shared, stream, arguments,
        ).map_err(|failure| explained(failure, grid, block))
    }

    fn cudaLaunchKernelExC(config: In<cudaLaunchConfig_st>, kernel: *const c_void, arguments: *mut *mut c_void) {
        let current = context::current()?;
        let config = config.get()?;
        let function = function::resolved(&current, kernel)?;
        current
            .cuLaunchKernelEx(&driver_configuration(&config)?, function, arguments, ptr::null_mut())
            .map_err(|failure| explained(failure, config.gridDim, config.blockDim))
    }
}

fn launch(
    kernel: *const c_void,
    grid: dim3,
    block: dim3,
    arguments: *mut *mut c_void,
    shared: usize,
    stream: CUstream,
) -> Result<(), Failure> {
    let current = context::current()?;
    let function = function::resolved(&current, kernel)?;
    let shared = shared_size(shared)?;
    #[rustfmt::skip]
    let launched = current.cuLaunchKernel(
        function, grid.x, grid.y, grid.z, block.x, block.y, block.z,
        shared, stream, arguments, ptr::null_mut(),
    );
    launched.map_err(|failure| explained(failure, grid, block))
}

/// The host stub's address is the handle too: it is unique, and means the same in every context.
fn get_kernel(kernel: Out<CUkernel>, stub: *const c_void) -> Result<(), Failure> {
    registry::function_name(stub).ok_or(Failure::INVALID_FUNCTION)?;
    Ok(kernel.put(stub as CUkernel)?)
}

/// A launch as the driver describes it. Attributes have the same layout in both APIs.
pub fn driver_configuration(config: &cudaLaunchConfig_st) -> Result<CUlaunchConfig, Failure> {
    Ok(CUlaunchConfig {
        gridDimX: config.gridDim.x,
        gridDimY: config.gridDim.y,
        gridDimZ: config.gridDim.z,
        blockDimX: config.blockDim.x,
        blockDimY: config.blockDim.y,
        blockDimZ: config.blockDim.z,
        sharedMemBytes: shared_size(config.dynamicSmemBytes)?,
        hStream: config.stream.cast(),
        attrs: config.attrs.cast(),
        numAttrs: config.numAttrs,
    })
}

fn shared_size(bytes: usize) -> Result<u32, Failure> {
    u32::try_from(bytes).map_err(|_| Failure::INVALID_VALUE)
}

/// The driver says "invalid value" to a shape that no device can launch; the runtime has its own
/// error for that.
fn explained(failure: Failure, grid: dim3, block: dim3) -> Failure {
    if launchable(grid, block) {
        return failure;
    }
    failure.reworded(Failure::INVALID_VALUE, Failure::INVALID_CONFIGURATION)
}

/// Whether the shape is within the limits that all devices have had for years.
fn launchable(grid: dim3, block: dim3) -> bool {
    const THREADS: u64 = 1024;
    let blocks = (1..=i32::MAX as u32).contains(&grid.x)
        && (1..=65_535).contains(&grid.y)
        && (1..=65_535).contains(&grid.z);
    let threads = [block.x, block.y, block.z].map(u64::from);
    let within =
        threads.iter().zip([THREADS, THREADS, 64]).all(|(&n, most)| (1..=most).contains(&n));
    blocks && within && threads.iter().product::<u64>() <= THREADS
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn shape(x: u32, y: u32, z: u32) -> dim3 {
        dim3 { x, y, z }
    }

    #[test]
    fn shapes_that_no_device_can_launch() {
        assert!(launchable(shape(1 << 20, 1, 1), shape(32, 32, 1)));
        assert!(!launchable(shape(0, 1, 1), shape(1, 1, 1)));
        assert!(!launchable(shape(1, 65_536, 1), shape(1, 1, 1)));
        assert!(!launchable(shape(1, 1, 1), shape(2048, 1, 1)));
        assert!(!launchable(shape(1, 1, 1), shape(32, 32, 2)));
        assert!(!launchable(shape(1, 1, 1), shape(1, 1, 65)));
    }
}
