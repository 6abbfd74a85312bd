"""Virtual memory management: reserve, create, map, access, and sharing by file descriptor."""

import contextlib
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from cuda.bindings import driver as cu

from .checks import (
    GIB, INVALID_VALUE, MIB, OUT_OF_MEMORY, SUCCESS, Checks, about, address, free_bytes, ok,
    pattern, primary_context, read_back,
)

DEVICE = cu.CUmemLocationType.CU_MEM_LOCATION_TYPE_DEVICE
DESCRIPTOR = cu.CUmemAllocationHandleType.CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR
READ_WRITE = cu.CUmemAccess_flags.CU_MEM_ACCESS_FLAGS_PROT_READWRITE
SIZE = 64 * MIB
SAMPLE = MIB


def properties():
    wanted = cu.CUmemAllocationProp()
    wanted.type = cu.CUmemAllocationType.CU_MEM_ALLOCATION_TYPE_PINNED
    wanted.location.type, wanted.location.id = DEVICE, 0
    wanted.requestedHandleTypes = DESCRIPTOR
    return wanted


def allow(pointer: int, size: int) -> tuple:
    access = cu.CUmemAccessDesc()
    access.location.type, access.location.id = DEVICE, 0
    access.flags = READ_WRITE
    return cu.cuMemSetAccess(pointer, size, [access], 1)


def access_of(pointer: int) -> int:
    location = cu.CUmemLocation()
    location.type, location.id = DEVICE, 0
    return int(ok(cu.cuMemGetAccess(location, pointer)))


@contextlib.contextmanager
def reserved(size: int) -> Iterator[int]:
    """An address range that holds nothing yet."""
    pointer = ok(cu.cuMemAddressReserve(size, 0, 0, 0))
    try:
        yield int(pointer)
    finally:
        ok(cu.cuMemAddressFree(pointer, size))


@contextlib.contextmanager
def mapped(handle, size: int = SIZE) -> Iterator[int]:
    """The memory of a handle at an address of its own."""
    with reserved(size) as pointer:
        ok(cu.cuMemMap(pointer, size, 0, handle, 0))
        ok(allow(pointer, size))
        try:
            yield pointer
        finally:
            ok(cu.cuMemUnmap(pointer, size))


def granularity(checks: Checks) -> None:
    which = cu.CUmemAllocationGranularity_flags
    with primary_context():
        least, best = (
            ok(cu.cuMemGetAllocationGranularity(properties(), option))
            for option in (which.CU_MEM_ALLOC_GRANULARITY_MINIMUM,
                           which.CU_MEM_ALLOC_GRANULARITY_RECOMMENDED))
        checks.that(f"{least} is a power of two", least > 0 and least & (least - 1) == 0)
        checks.that("recommended: at least the minimum", best >= least)
        # Only the size is checked: no other listed code fits a size that is no multiple.
        checks.answers("another size", cu.cuMemCreate(least + 1, properties(), 0), INVALID_VALUE)


def reservation(checks: Checks) -> None:
    with primary_context():
        free = free_bytes()
        with reserved(16 * GIB) as pointer:
            checks.that("takes no memory", about(free_bytes(), free))
            checks.refused("part of it freed", cu.cuMemAddressFree(pointer, GIB))
        checks.answers("a size of zero", cu.cuMemAddressReserve(0, 0, 0, 0), INVALID_VALUE)
        checks.answers("an odd alignment", cu.cuMemAddressReserve(SIZE, 3, 0, 0), INVALID_VALUE)


def lifetime(checks: Checks) -> None:
    with primary_context():
        free = free_bytes()
        handle = ok(cu.cuMemCreate(SIZE, properties(), 0))
        created = free_bytes()
        checks.that("creation takes the memory", free - created >= SIZE)
        with mapped(handle) as pointer:
            checks.that("mapping takes no more", about(free_bytes(), created))
            ok(cu.cuMemRelease(handle))
            checks.that("released while mapped: still there", about(free_bytes(), created))
            with reserved(SIZE) as elsewhere:
                again = cu.cuMemMap(elsewhere, SIZE, 0, handle, 0)
                checks.refused("a released handle mapped once more", again)
            ok(cu.cuMemsetD8(pointer, 1, SAMPLE))
            checks.equal("and usable", read_back(pointer, SAMPLE), b"\1" * SAMPLE)
        checks.that("unmapped and released: back", about(free_bytes(), free))
        total = ok(cu.cuMemGetInfo())[1]
        answer = cu.cuMemCreate((total // SIZE + 16) * SIZE, properties(), 0)
        checks.answers("more than the device", answer, OUT_OF_MEMORY)


def two_views_of_one_memory(checks: Checks) -> None:
    with primary_context():
        free = free_bytes()
        handle = ok(cu.cuMemCreate(SIZE, properties(), 0))
        created = free_bytes()
        with mapped(handle) as first, mapped(handle) as second:
            checks.that("counted once", about(free_bytes(), created))
            host = pattern(SAMPLE, seed=5)
            ok(cu.cuMemcpyHtoD(first + SAMPLE, address(host), SAMPLE))
            seen = read_back(second + SAMPLE, SAMPLE)
            checks.equal("written through one, read through the other", seen == host.raw, True)
            with mapped(handle) as third:
                pass
            checks.refused("an address that it is mapped at no more", cu.cuMemsetD8(third, 1, 1))
            seen = read_back(first + SAMPLE, SAMPLE)
            checks.equal("one mapping gone, the others as they were", seen == host.raw, True)
            ok(cu.cuMemRelease(handle))
            checks.that("released: there while it is mapped", about(free_bytes(), created))
        checks.that("the last mapping gone: back", about(free_bytes(), free))


def mapping_rules(checks: Checks) -> None:
    with primary_context(), reserved(2 * SIZE) as pointer:
        handle = ok(cu.cuMemCreate(SIZE, properties(), 0))
        beyond = cu.cuMemMap(pointer, 2 * SIZE, 0, handle, 0)
        checks.answers("more than the handle has", beyond, INVALID_VALUE)
        ok(cu.cuMemMap(pointer, SIZE, 0, handle, 0))
        checks.equal("no access at first", access_of(pointer), 0)
        checks.refused("mapped again at the same place", cu.cuMemMap(pointer, SIZE, 0, handle, 0))
        checks.refused("access to what is not all mapped", allow(pointer, 2 * SIZE))
        ok(allow(pointer, SIZE))
        checks.equal("access as it was set", access_of(pointer), int(READ_WRITE))
        checks.answers("half of it unmapped", cu.cuMemUnmap(pointer, SIZE // 2), INVALID_VALUE)
        ok(cu.cuMemUnmap(pointer, SIZE))
        ok(cu.cuMemMap(pointer + SIZE, SIZE, 0, handle, 0))
        checks.answers("elsewhere in the reservation", cu.cuMemUnmap(pointer + SIZE, SIZE), SUCCESS)
        ok(cu.cuMemRelease(handle))


def handles(checks: Checks) -> None:
    with primary_context():
        handle = ok(cu.cuMemCreate(SIZE, properties(), 0))
        known = ok(cu.cuMemGetAllocationPropertiesFromHandle(handle))
        checks.equal("location of a handle", (known.location.type, known.location.id), (DEVICE, 0))
        with mapped(handle) as pointer:
            again = ok(cu.cuMemRetainAllocationHandle(pointer))
            checks.equal("the same handle from its address", int(again), int(handle))
            ok(cu.cuMemRelease(again))
        with reserved(SIZE) as empty:
            checks.refused("a handle from nothing", cu.cuMemRetainAllocationHandle(empty))
        ok(cu.cuMemRelease(handle))


def shared_within_the_process(checks: Checks) -> None:
    with primary_context():
        free = free_bytes()
        handle = ok(cu.cuMemCreate(SIZE, properties(), 0))
        descriptor = int(ok(cu.cuMemExportToShareableHandle(handle, DESCRIPTOR, 0)))
        created = free_bytes()
        imported = ok(cu.cuMemImportFromShareableHandle(descriptor, DESCRIPTOR))
        os.close(descriptor)
        checks.that("importing takes no memory", about(free_bytes(), created))
        with mapped(handle) as first, mapped(imported) as second:
            host = pattern(SAMPLE, seed=9)
            ok(cu.cuMemcpyHtoD(first, address(host), SAMPLE))
            checks.equal("one memory", read_back(second, SAMPLE) == host.raw, True)
        ok(cu.cuMemRelease(handle))
        checks.that("held by the imported handle", about(free_bytes(), created))
        ok(cu.cuMemRelease(imported))
        checks.that("back with the last handle", about(free_bytes(), free))


def shared_with_another_process(checks: Checks) -> None:
    with primary_context():
        handle = ok(cu.cuMemCreate(SIZE, properties(), 0))
        descriptor = int(ok(cu.cuMemExportToShareableHandle(handle, DESCRIPTOR, 0)))
        with mapped(handle) as pointer:
            for way in ("inherited", "sent"):
                question = pattern(SAMPLE, seed=11)
                ok(cu.cuMemcpyHtoD(pointer, address(question), SAMPLE))
                checks.equal(f"{way}: the child reads it", importer(way, descriptor), 0)
                answered = read_back(pointer, SAMPLE) == pattern(SAMPLE, seed=12).raw
                checks.that(f"{way}: and its answer arrives", answered)
        os.close(descriptor)
        ok(cu.cuMemRelease(handle))


def importer(way: str, descriptor: int) -> int:
    """Runs a process that imports the memory; its exit code."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        passed = descriptor if way == "inherited" else theirs.fileno()
        command = [sys.executable, "-m", __name__, way, str(passed)]
        child = subprocess.Popen(command, pass_fds=[passed], cwd=Path(__file__).parent.parent)
        if way == "sent":
            socket.send_fds(ours, [b"memory"], [descriptor])
        return child.wait(60)


def import_and_answer(way: str, passed: int) -> int:
    """The other process: reads the pattern, and leaves one of its own."""
    if way == "sent":
        with socket.socket(fileno=passed) as channel:
            passed = socket.recv_fds(channel, 16, 1)[1][0]
    ok(cu.cuInit(0))
    with primary_context():
        handle = ok(cu.cuMemImportFromShareableHandle(passed, DESCRIPTOR))
        with mapped(handle) as pointer:
            right = read_back(pointer, SAMPLE) == pattern(SAMPLE, seed=11).raw
            answer = pattern(SAMPLE, seed=12)
            ok(cu.cuMemcpyHtoD(pointer, address(answer), SAMPLE))
        ok(cu.cuMemRelease(handle))
    return 0 if right else 1


FAMILY = [
    granularity, reservation, lifetime, two_views_of_one_memory, mapping_rules, handles,
    shared_within_the_process, shared_with_another_process,
]

if __name__ == "__main__":
    sys.exit(import_and_answer(sys.argv[1], int(sys.argv[2])))
