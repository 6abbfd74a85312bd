"""Pinned host memory: allocated by CUDA, and registered with it."""

import ctypes
import mmap

from cuda.bindings import driver as cu

from .checks import (
    INVALID_VALUE, MIB, SUCCESS, Checks, about, address, free_bytes, ok, pattern, primary_context,
)

PORTABLE_AND_MAPPED = cu.CU_MEMHOSTALLOC_PORTABLE | cu.CU_MEMHOSTALLOC_DEVICEMAP
MEMORY_TYPE = cu.CUpointer_attribute.CU_POINTER_ATTRIBUTE_MEMORY_TYPE
HOST = int(cu.CUmemorytype.CU_MEMORYTYPE_HOST)


def memory_type(pointer: int) -> int:
    return int(ok(cu.cuPointerGetAttribute(MEMORY_TYPE, pointer)))


def pinned(checks: Checks) -> None:
    with primary_context():
        free = free_bytes()
        host = int(ok(cu.cuMemHostAlloc(4 * MIB, PORTABLE_AND_MAPPED)))
        checks.that("takes no device memory", about(free, free_bytes()))
        flags = ok(cu.cuMemHostGetFlags(host + MIB))
        checks.equal("flags, asked from inside", flags & PORTABLE_AND_MAPPED, PORTABLE_AND_MAPPED)
        checks.equal("known as host memory", memory_type(host), HOST)
        # Equal to the host address only where every device can use that: not asserted.
        checks.that("has a device address", int(ok(cu.cuMemHostGetDevicePointer(host, 0))))
        checks.answers("freed", cu.cuMemFreeHost(host), SUCCESS)
        checks.refused("flags after the free", cu.cuMemHostGetFlags(host))
        checks.answers("freed twice", cu.cuMemFreeHost(host), INVALID_VALUE)


def copies_through_pinned_memory(checks: Checks) -> None:
    with primary_context():
        host = int(ok(cu.cuMemAllocHost(MIB)))
        device, stream = ok(cu.cuMemAlloc(MIB)), ok(cu.cuStreamCreate(0))
        sample = pattern(MIB, seed=2)
        ctypes.memmove(host, address(sample), MIB)
        ok(cu.cuMemcpyHtoDAsync(device, host, MIB, stream))
        ok(cu.cuStreamSynchronize(stream))
        ctypes.memset(host, 0, MIB)
        ok(cu.cuMemcpyDtoHAsync(host, device, MIB, stream))
        ok(cu.cuStreamSynchronize(stream))
        checks.equal("there and back", ctypes.string_at(host, MIB) == sample.raw, True)
        ok(cu.cuStreamDestroy(stream))
        ok(cu.cuMemFree(device))
        ok(cu.cuMemFreeHost(host))


def wrong_frees(checks: Checks) -> None:
    with primary_context():
        own = pattern(64)
        checks.answers("the program's own memory", cu.cuMemFreeHost(address(own)), INVALID_VALUE)
        checks.answers("flags of it", cu.cuMemHostGetFlags(address(own)), INVALID_VALUE)


def registered(checks: Checks) -> None:
    already = cu.CUresult.CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED
    missing = cu.CUresult.CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED
    pages = mmap.mmap(-1, 4 * MIB)
    view = ctypes.c_char.from_buffer(pages)
    start = address(view)
    with primary_context():
        ok(cu.cuMemHostRegister(start, 4 * MIB, cu.CU_MEMHOSTREGISTER_DEVICEMAP))
        checks.answers("registered twice", cu.cuMemHostRegister(start, 4 * MIB, 0), already)
        checks.equal("known as host memory", memory_type(start), HOST)
        checks.that("has a device address", int(ok(cu.cuMemHostGetDevicePointer(start, 0))))
        checks.answers("unregistered", cu.cuMemHostUnregister(start), SUCCESS)
        checks.answers("unregistered twice", cu.cuMemHostUnregister(start), missing)
        unknown = cu.cuPointerGetAttribute(MEMORY_TYPE, start)
        checks.answers("unknown again", unknown, INVALID_VALUE)
    del view
    pages.close()


FAMILY = [pinned, copies_through_pinned_memory, wrong_frees, registered]
