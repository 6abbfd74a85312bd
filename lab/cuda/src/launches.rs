//! Launches and occupancy.

use std::ffi::c_void;

use cudarc::driver::sys;
use whyoom_lab_abi::{In, Out, exports};
use whyoom_lab_core::{
    Error,
    driver::{Driver, Launch, Work},
};

use crate::{
    process::in_context,
    status::{Result, Status},
};

/// `CUlaunchConfig`, with its handles as numbers.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct LaunchConfig {
    grid: [u32; 3],
    block: [u32; 3],
    shared: u32,
    stream: u64,
    attributes: u64,
    attribute_count: u32,
}

const _: () = assert!(size_of::<LaunchConfig>() == size_of::<sys::CUlaunchConfig>());

fn launch(launch: &Launch, parameters: *const c_void) -> Result<()> {
    in_context(|driver, context| {
        let runs = driver.enqueue(context, launch.stream, Work::Kernel(*launch))?;
        if runs && driver.touches_memory(launch.function) {
            // The effect is given to kernels whose first argument is an address.
            let place: *const u64 = In(parameters.cast::<*const u64>()).get()?;
            driver.touches(context, launch.stream, In(place).get()?)?;
        }
        if runs && !parameters.is_null() {
            compute(driver, launch, parameters)?;
        }
        Ok(())
    })
}

/// Runs the kernel where its code is PTX; its parameters are read as it declares them.
fn compute(driver: &mut Driver, launch: &Launch, parameters: *const c_void) -> Result<()> {
    let Some(sizes) = driver.parameter_sizes(launch.function) else { return Ok(()) };
    let places = In(parameters.cast::<*const u8>()).list(sizes.len())?;
    let values = places.into_iter().zip(sizes).map(|(place, size)| In(place).list(size));
    let values = values.collect::<std::result::Result<Vec<_>, _>>()?;
    Ok(driver.compute(launch, &values)?)
}

/// Blocks that fit a multiprocessor by threads and shared memory. Registers are not known here.
fn resident_blocks(function: u64, threads: i32, shared: usize) -> Result<i32> {
    in_context(|driver, context| {
        driver.function_name(function)?;
        let threads = u32::try_from(threads).ok().filter(|threads| *threads > 0);
        let threads = threads.ok_or(Error::InvalidValue)?;
        let model = driver.device_spec(driver.device_of(context)?)?.model;
        let by_threads = model.threads_per_multiprocessor.value / threads.next_multiple_of(32);
        let all_shared = model.shared_per_multiprocessor.value as usize;
        let by_shared = all_shared.checked_div(shared).unwrap_or(usize::MAX).min(32);
        Ok(by_threads.min(by_shared as u32) as i32)
    })
}

exports! { Status;
    fn cuLaunchKernel(
        function: u64,
        grid_x: u32,
        grid_y: u32,
        grid_z: u32,
        block_x: u32,
        block_y: u32,
        block_z: u32,
        shared: u32,
        stream: u64,
        parameters: *const c_void,
        _extra: *const c_void,
    ) {
        let (grid, block) = ([grid_x, grid_y, grid_z], [block_x, block_y, block_z]);
        launch(&Launch { function, grid, block, shared, stream }, parameters)
    }

    fn cuLaunchCooperativeKernel(
        function: u64,
        grid_x: u32,
        grid_y: u32,
        grid_z: u32,
        block_x: u32,
        block_y: u32,
        block_z: u32,
        shared: u32,
        stream: u64,
        parameters: *const c_void,
    ) {
        let (grid, block) = ([grid_x, grid_y, grid_z], [block_x, block_y, block_z]);
        launch(&Launch { function, grid, block, shared, stream }, parameters)
    }

    fn cuLaunchKernelEx(
        config: In<LaunchConfig>,
        function: u64,
        parameters: *const c_void,
        _extra: *const c_void,
    ) {
        let LaunchConfig { grid, block, shared, stream, .. } = config.get()?;
        launch(&Launch { function, grid, block, shared, stream }, parameters)
    }

    fn cuOccupancyMaxActiveBlocksPerMultiprocessor(
        blocks: Out<i32>,
        function: u64,
        threads: i32,
        shared: usize,
    ) {
        Ok(blocks.put(resident_blocks(function, threads, shared)?)?)
    }

    fn cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
        blocks: Out<i32>,
        function: u64,
        threads: i32,
        shared: usize,
        _flags: u32,
    ) {
        Ok(blocks.put(resident_blocks(function, threads, shared)?)?)
    }
}
