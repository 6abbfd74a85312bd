"""Stream-ordered allocation and its pools."""

import contextlib
from collections.abc import Iterator

from cuda.bindings import driver as cu

from .checks import (
    GIB, INVALID_VALUE, MIB, OUT_OF_MEMORY, SUCCESS, Checks, address, free_bytes, ok, pattern,
    primary_context, read_back,
)

ATTRIBUTE = cu.CUmemPool_attribute
USED = ATTRIBUTE.CU_MEMPOOL_ATTR_USED_MEM_CURRENT
USED_HIGH = ATTRIBUTE.CU_MEMPOOL_ATTR_USED_MEM_HIGH
RESERVED = ATTRIBUTE.CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT
RESERVED_HIGH = ATTRIBUTE.CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH
THRESHOLD = ATTRIBUTE.CU_MEMPOOL_ATTR_RELEASE_THRESHOLD
SIZE = 64 * MIB


def figure(pool, which) -> int:
    return int(ok(cu.cuMemPoolGetAttribute(pool, which)))


def put(pool, which, value: int) -> tuple:
    return cu.cuMemPoolSetAttribute(pool, which, cu.cuuint64_t(value))


@contextlib.contextmanager
def own_pool() -> Iterator[tuple]:
    """A new pool on the first device, and a stream."""
    properties = cu.CUmemPoolProps()
    properties.allocType = cu.CUmemAllocationType.CU_MEM_ALLOCATION_TYPE_PINNED
    properties.handleTypes = cu.CUmemAllocationHandleType.CU_MEM_HANDLE_TYPE_NONE
    properties.location.type = cu.CUmemLocationType.CU_MEM_LOCATION_TYPE_DEVICE
    properties.location.id = 0
    with primary_context():
        pool, stream = ok(cu.cuMemPoolCreate(properties)), ok(cu.cuStreamCreate(0))
        try:
            yield pool, stream
        finally:
            ok(cu.cuStreamDestroy(stream))
            ok(cu.cuMemPoolDestroy(pool))


def default_pool(checks: Checks) -> None:
    device = ok(cu.cuDeviceGet(0))
    with primary_context():
        pool = ok(cu.cuDeviceGetDefaultMemPool(device))
        checks.equal("current unless set", int(ok(cu.cuDeviceGetMemPool(device))), int(pool))
        checks.equal("keeps nothing unless told", figure(pool, THRESHOLD), 0)
        for reuse in ("FOLLOW_EVENT_DEPENDENCIES", "ALLOW_OPPORTUNISTIC",
                      "ALLOW_INTERNAL_DEPENDENCIES"):
            which = getattr(ATTRIBUTE, f"CU_MEMPOOL_ATTR_REUSE_{reuse}")
            checks.equal(f"{reuse} is on unless turned off", figure(pool, which), 1)
        checks.refused("destroying it", cu.cuMemPoolDestroy(pool))
        stream = ok(cu.cuStreamCreate(0))
        pointer = ok(cu.cuMemAllocAsync(SIZE, stream))
        checks.that("cuMemAllocAsync takes from it", figure(pool, USED) >= SIZE)
        host = pattern(MIB)
        ok(cu.cuMemcpyHtoDAsync(pointer, address(host), MIB, stream))
        ok(cu.cuStreamSynchronize(stream))
        checks.equal("usable memory", read_back(pointer, MIB) == host.raw, True)
        ok(cu.cuMemFreeAsync(pointer, stream))
        ok(cu.cuStreamSynchronize(stream))
        checks.equal("nothing in use after the free", figure(pool, USED), 0)
        ok(cu.cuMemPoolTrimTo(pool, 0))
        checks.equal("nothing held after a trim to zero", figure(pool, RESERVED), 0)
        ok(cu.cuStreamDestroy(stream))


def figures_of_a_pool(checks: Checks) -> None:
    with own_pool() as (pool, stream):
        free = free_bytes()
        checks.equal("a new pool is empty", (figure(pool, USED), figure(pool, RESERVED)), (0, 0))
        pointer = ok(cu.cuMemAllocFromPoolAsync(SIZE, pool, stream))
        used, reserved = figure(pool, USED), figure(pool, RESERVED)
        checks.that("in use: at least what was asked for", used >= SIZE)
        checks.that("reserved: at least what is in use", reserved >= used)
        checks.that("and taken from the device", free - free_bytes() >= SIZE)
        ok(cu.cuMemFreeAsync(pointer, stream))
        ok(cu.cuStreamSynchronize(stream))
        checks.equal("in use after the free", figure(pool, USED), 0)
        checks.that("the most in use", figure(pool, USED_HIGH) >= SIZE)
        checks.that("the most reserved", figure(pool, RESERVED_HIGH) >= SIZE)
        ok(put(pool, USED_HIGH, 0))
        checks.equal("the most in use, reset", figure(pool, USED_HIGH), 0)
        checks.answers("resetting to another value", put(pool, RESERVED_HIGH, 1), INVALID_VALUE)


def release_threshold(checks: Checks) -> None:
    with own_pool() as (pool, stream):
        ok(put(pool, THRESHOLD, (1 << 64) - 1))
        checks.equal("as it was set", figure(pool, THRESHOLD), (1 << 64) - 1)
        first = ok(cu.cuMemAllocFromPoolAsync(SIZE, pool, stream))
        ok(cu.cuMemFreeAsync(first, stream))
        ok(cu.cuStreamSynchronize(stream))
        held = figure(pool, RESERVED)
        checks.that("a high threshold keeps what was freed", held >= SIZE)
        again = ok(cu.cuMemAllocFromPoolAsync(SIZE, pool, stream))
        checks.equal("which the same stream uses again", figure(pool, RESERVED), held)
        ok(cu.cuMemFreeAsync(again, stream))
        ok(cu.cuStreamSynchronize(stream))
        free = free_bytes()
        ok(cu.cuMemPoolTrimTo(pool, SIZE // 2))
        checks.that("a trim keeps at least its minimum", figure(pool, RESERVED) >= SIZE // 2)
        ok(cu.cuMemPoolTrimTo(pool, 0))
        checks.equal("a trim to zero keeps nothing", figure(pool, RESERVED), 0)
        checks.that("and the device has it back", free_bytes() - free >= SIZE)


def threshold_of_zero(checks: Checks) -> None:
    with own_pool() as (pool, stream):
        pointer = ok(cu.cuMemAllocFromPoolAsync(SIZE, pool, stream))
        ok(cu.cuMemPoolTrimTo(pool, 0))
        checks.that("a trim spares what is in use", figure(pool, RESERVED) >= SIZE)
        ok(cu.cuMemFreeAsync(pointer, stream))
        ok(cu.cuStreamSynchronize(stream))
        # Documented as an attempt ("will try to release"); with nothing in use nothing hinders it.
        checks.that("released at the synchronize", figure(pool, RESERVED) < SIZE)


def frees_across_the_interfaces(checks: Checks) -> None:
    with own_pool() as (pool, stream):
        pointer = ok(cu.cuMemAllocFromPoolAsync(SIZE, pool, stream))
        ok(cu.cuStreamSynchronize(stream))
        checks.answers("cuMemFree of a pool's memory", cu.cuMemFree(pointer), SUCCESS)
        ok(cu.cuStreamSynchronize(stream))
        checks.equal("nothing in use then", figure(pool, USED), 0)
        checks.answers("freed twice", cu.cuMemFreeAsync(pointer, stream), INVALID_VALUE)


def too_much(checks: Checks) -> None:
    with own_pool() as (pool, stream):
        total = ok(cu.cuMemGetInfo())[1]
        answer = cu.cuMemAllocFromPoolAsync(total + GIB, pool, stream)
        checks.answers("more than the device", answer, OUT_OF_MEMORY)
        answer = cu.cuMemAllocAsync(total + GIB, stream)
        checks.answers("the default pool too", answer, OUT_OF_MEMORY)
        checks.equal("in use", figure(pool, USED), 0)


def current_pool(checks: Checks) -> None:
    device = ok(cu.cuDeviceGet(0))
    with primary_context():
        default = int(ok(cu.cuDeviceGetDefaultMemPool(device)))
        with own_pool() as (pool, stream):
            ok(cu.cuDeviceSetMemPool(device, pool))
            checks.equal("as it was set", int(ok(cu.cuDeviceGetMemPool(device))), int(pool))
            pointer = ok(cu.cuMemAllocAsync(SIZE, stream))
            checks.that("cuMemAllocAsync follows", figure(pool, USED) >= SIZE)
            ok(cu.cuMemFreeAsync(pointer, stream))
            ok(cu.cuStreamSynchronize(stream))
        now = int(ok(cu.cuDeviceGetMemPool(device)))
        checks.equal("destroying it brings back the default", now, default)


FAMILY = [
    default_pool, figures_of_a_pool, release_threshold, threshold_of_zero,
    frees_across_the_interfaces, too_much, current_pool,
]
