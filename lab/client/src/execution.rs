//! Events, modules, launches, and contexts on other threads.

use std::thread;

use cudarc::{
    driver::{
        CudaContext, CudaFunction, CudaStream, DriverError, LaunchConfig, PushKernelArg,
        sys::{CUdevice_attribute, CUevent_flags, CUfunction_attribute, CUresult},
    },
    nvrtc::Ptx,
};

use crate::checks::Checks;

/// Stores its second argument where the first points to.
const STORE_NUMBER: &str = "
.version 7.0
.target sm_75
.address_size 64
.visible .entry store_number(.param .u64 place, .param .u32 number)
{
    .reg .u64 %address;
    .reg .u32 %value;
    ld.param.u64 %address, [place];
    ld.param.u32 %value, [number];
    cvta.to.global.u64 %address, %address;
    st.global.u32 [%address], %value;
    ret;
}
";

/// Listed for a launch are both; which of them a launch over a limit gets is not documented.
const OVER_A_LIMIT: [CUresult; 2] =
    [CUresult::CUDA_ERROR_INVALID_VALUE, CUresult::CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES];

/// Events are complete before they are recorded and after they have been waited for.
pub(crate) fn events(checks: &mut Checks) -> anyhow::Result<()> {
    let context = CudaContext::new(0)?;
    let stream = context.new_stream()?;
    let timed = Some(CUevent_flags::CU_EVENT_DEFAULT);
    checks.that("complete before a record", context.new_event(timed)?.try_is_complete()?);

    let start = stream.record_event(timed)?;
    let _work = stream.alloc_zeros::<f32>(1 << 20)?;
    let end = stream.record_event(timed)?;
    end.synchronize()?;
    checks.that("complete after a synchronize", end.try_is_complete()?);
    checks.that("time between them", start.elapsed_ms(&end)? >= 0.0);

    let timeless = stream.record_event(None)?;
    let refusal = [CUresult::CUDA_ERROR_INVALID_HANDLE];
    checks.refused("time of an event that keeps none", start.elapsed_ms(&timeless), &refusal);

    let other = stream.fork()?;
    other.wait(&end)?;
    stream.join(&other)?;
    stream.synchronize()?;
    Ok(())
}

/// A module from PTX text gives its function, and no other.
pub(crate) fn module(checks: &mut Checks) -> anyhow::Result<()> {
    let context = CudaContext::new(0)?;
    let module = context.load_module(Ptx::from_src(STORE_NUMBER))?;
    let function = module.load_function("store_number")?;
    let threads = function.max_threads_per_block()?;
    checks.that("threads of a block", threads > 0);
    let missing = [CUresult::CUDA_ERROR_NOT_FOUND];
    checks.refused("a missing function", module.load_function("no_such_kernel"), &missing);

    let dynamic = CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
    function.set_attribute(dynamic, 32 << 10)?;
    checks.equal("as it was set", &function.get_attribute(dynamic)?, &(32 << 10));
    Ok(())
}

/// A launch within the limits goes well; one over them fails, and harms nothing.
pub(crate) fn launches(checks: &mut Checks) -> anyhow::Result<()> {
    let context = CudaContext::new(0)?;
    let stream = context.default_stream();
    let function =
        context.load_module(Ptx::from_src(STORE_NUMBER))?.load_function("store_number")?;
    let shared = CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN;
    let too_much = u32::try_from(context.attribute(shared)?)? + 1;

    checks.that("one block", launch(&stream, &function, 32, 0).is_ok());
    checks.refused("too many threads", launch(&stream, &function, 1025, 0), &OVER_A_LIMIT);
    let answer = launch(&stream, &function, 32, too_much);
    checks.refused("too much shared memory", answer, &OVER_A_LIMIT);
    checks.that("the context is none the worse", context.synchronize().is_ok());
    checks.that("and launches again", launch(&stream, &function, 32, 0).is_ok());
    context.synchronize()?;
    Ok(())
}

fn launch(
    stream: &std::sync::Arc<CudaStream>,
    function: &CudaFunction,
    threads: u32,
    shared_mem_bytes: u32,
) -> Result<(), DriverError> {
    let mut place = stream.alloc_zeros::<u32>(1)?;
    let shape = LaunchConfig { grid_dim: (1, 1, 1), block_dim: (threads, 1, 1), shared_mem_bytes };
    let mut builder = stream.launch_builder(function);
    builder.arg(&mut place).arg(&7_u32);
    // SAFETY: the arguments are those of the kernel, and `place` has room for what it stores.
    unsafe { builder.launch(shape) }.map(drop)
}

/// A context is used from another thread than its creator's.
pub(crate) fn threads(checks: &mut Checks) -> anyhow::Result<()> {
    let context = CudaContext::new(0)?;
    let elsewhere = context.clone();
    let answer = thread::spawn(move || -> Result<Vec<u8>, DriverError> {
        let stream = elsewhere.new_stream()?;
        let block = stream.clone_htod(&[5_u8; 64])?;
        stream.clone_dtoh(&block)
    });
    let copied = answer.join().map_err(|_| anyhow::anyhow!("the thread panicked"))??;
    checks.equal("copied on another thread", &copied, &vec![5; 64]);
    context.synchronize()?;
    Ok(())
}
