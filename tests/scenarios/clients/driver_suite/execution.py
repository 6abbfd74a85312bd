"""Limits, streams, events, modules and launches."""

import ctypes

from cuda.bindings import driver as cu

from .checks import (
    INVALID_HANDLE, INVALID_VALUE, KIB, MIB, SUCCESS, Checks, address, ok, primary_context,
)
from .devices import ATTRIBUTE, attribute

FUNCTION = cu.CUfunction_attribute
NO_TIMING = cu.CUevent_flags.CU_EVENT_DISABLE_TIMING
# Listed for cuLaunchKernel are both; which of them a launch over a limit gets is not said. Devices
# answer with the first.
OVER_A_LIMIT = (INVALID_VALUE, cu.CUresult.CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES)

# Stores its second argument where the first points to.
PTX = b"""
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
"""


def limits(checks: Checks) -> None:
    heap = cu.CUlimit.CU_LIMIT_MALLOC_HEAP_SIZE
    with primary_context():
        checks.equal("heap for kernels", ok(cu.cuCtxGetLimit(heap)), 8 * MIB)
        ok(cu.cuCtxSetLimit(heap, 32 * MIB))
        checks.that("set higher", ok(cu.cuCtxGetLimit(heap)) >= 32 * MIB)
        ok(cu.cuCtxSetLimit(cu.CUlimit.CU_LIMIT_STACK_SIZE, 4 * KIB))
        checks.that("stack", ok(cu.cuCtxGetLimit(cu.CUlimit.CU_LIMIT_STACK_SIZE)) >= 4 * KIB)
        fifo = ok(cu.cuCtxGetLimit(cu.CUlimit.CU_LIMIT_PRINTF_FIFO_SIZE))
        checks.that("buffer for printf", fifo > 0)


def streams(checks: Checks) -> None:
    apart = cu.CUstream_flags.CU_STREAM_NON_BLOCKING
    with primary_context() as context:
        least, greatest = ok(cu.cuCtxGetStreamPriorityRange())
        checks.that("lower numbers are greater priorities", greatest <= least)
        stream = ok(cu.cuStreamCreateWithPriority(apart, greatest - 5))
        priority = ok(cu.cuStreamGetPriority(stream))
        checks.equal("a priority out of range is clamped", priority, greatest)
        checks.equal("flags", ok(cu.cuStreamGetFlags(stream)), int(apart))
        checks.equal("context", int(ok(cu.cuStreamGetCtx(stream))), int(context))
        ok(cu.cuStreamSynchronize(stream))
        checks.answers("idle after a synchronize", cu.cuStreamQuery(stream), SUCCESS)
        ok(cu.cuStreamDestroy(stream))
        checks.answers("the default stream", cu.cuStreamSynchronize(cu.CUstream(0)), SUCCESS)


def events(checks: Checks) -> None:
    with primary_context():
        stream = ok(cu.cuStreamCreate(0))
        start, end = ok(cu.cuEventCreate(0)), ok(cu.cuEventCreate(0))
        checks.answers("complete before it is recorded", cu.cuEventQuery(start), SUCCESS)
        checks.answers("time without records", cu.cuEventElapsedTime(start, end), INVALID_HANDLE)
        ok(cu.cuEventRecord(start, stream))
        ok(cu.cuStreamWaitEvent(stream, start, 0))
        ok(cu.cuEventRecord(end, stream))
        ok(cu.cuEventSynchronize(end))
        checks.answers("complete after a synchronize", cu.cuEventQuery(end), SUCCESS)
        checks.that("time between them", ok(cu.cuEventElapsedTime(start, end)) >= 0)
        timeless = ok(cu.cuEventCreate(NO_TIMING))
        ok(cu.cuEventRecord(timeless, stream))
        ok(cu.cuEventSynchronize(timeless))
        answer = cu.cuEventElapsedTime(start, timeless)
        checks.answers("time of an event that keeps none", answer, INVALID_HANDLE)
        for event in (start, end, timeless):
            ok(cu.cuEventDestroy(event))
        ok(cu.cuStreamDestroy(stream))


def contexts_do_not_mix(checks: Checks) -> None:
    with primary_context():
        event = ok(cu.cuEventCreate(0))
        other = ok(cu.cuCtxCreate(None, 0, ok(cu.cuDeviceGet(0))))
        stream = ok(cu.cuStreamCreate(0))
        answer = cu.cuEventRecord(event, stream)
        checks.answers("an event of another context", answer, INVALID_HANDLE)
        ok(cu.cuCtxDestroy(other))
        ok(cu.cuEventDestroy(event))


def load():
    text = ctypes.create_string_buffer(PTX)
    return ok(cu.cuModuleLoadData(address(text)))


def modules(checks: Checks) -> None:
    with primary_context():
        module = load()
        ok(cu.cuModuleGetFunction(module, b"store_number"))
        missing = cu.cuModuleGetFunction(module, b"no_such_kernel")
        checks.answers("a missing function", missing, cu.CUresult.CUDA_ERROR_NOT_FOUND)
        checks.answers("unloaded", cu.cuModuleUnload(module), SUCCESS)
        text = ctypes.create_string_buffer(b"this is no program")
        # INVALID_PTX, INVALID_IMAGE and others are listed; which fits is not said.
        checks.refused("what is no code", cu.cuModuleLoadData(address(text)))


def function_attributes(checks: Checks) -> None:
    with primary_context():
        module = load()
        function = ok(cu.cuModuleGetFunction(module, b"store_number"))
        most_threads = FUNCTION.CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK
        threads = ok(cu.cuFuncGetAttribute(most_threads, function))
        device = attribute(ATTRIBUTE.CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK)
        checks.that(f"{threads} threads of a block", 0 < threads <= device)
        shared = ok(cu.cuFuncGetAttribute(FUNCTION.CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, function))
        most = attribute(ATTRIBUTE.CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN) - shared
        dynamic = FUNCTION.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
        checks.answers("all shared memory", cu.cuFuncSetAttribute(function, dynamic, most), SUCCESS)
        checks.equal("as it was set", ok(cu.cuFuncGetAttribute(dynamic, function)), most)
        checks.refused("more than all", cu.cuFuncSetAttribute(function, dynamic, most + KIB))
        registers = FUNCTION.CU_FUNC_ATTRIBUTE_NUM_REGS
        answer = cu.cuFuncSetAttribute(function, registers, 8)
        checks.answers("what can only be read", answer, INVALID_VALUE)
        ok(cu.cuModuleUnload(module))


def launches(checks: Checks) -> None:
    """What the kernel computes is not looked at: simulated devices compute nothing."""
    with primary_context():
        module, place = load(), ok(cu.cuMemAlloc(KIB))
        function = ok(cu.cuModuleGetFunction(module, b"store_number"))
        arguments = ((int(place), 7), (ctypes.c_uint64, ctypes.c_uint32))

        def launch(threads: int, shared: int) -> tuple:
            return cu.cuLaunchKernel(
                function, 1, 1, 1, threads, 1, 1, shared, cu.CUstream(0), arguments, 0)

        checks.answers("one block", launch(32, 0), SUCCESS)
        checks.answers("which ends well", cu.cuCtxSynchronize(), SUCCESS)
        threads = attribute(ATTRIBUTE.CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK)
        checks.answers("too many threads", launch(threads + 1, 0), *OVER_A_LIMIT)
        shared = attribute(ATTRIBUTE.CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)
        checks.answers("too much shared memory", launch(32, shared + 1), *OVER_A_LIMIT)
        checks.answers("the context is none the worse", cu.cuCtxSynchronize(), SUCCESS)
        checks.answers("and launches again", launch(32, 0), SUCCESS)
        ok(cu.cuCtxSynchronize())
        ok(cu.cuMemFree(place))
        ok(cu.cuModuleUnload(module))


FAMILY = [limits, streams, events, contexts_do_not_mix, modules, function_attributes, launches]
