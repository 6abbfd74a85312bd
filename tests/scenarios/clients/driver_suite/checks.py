"""Counting checks, and calling the driver so that one failure does not hide the next."""

import contextlib
import ctypes
import sys
import traceback
from collections.abc import Callable, Iterator

from cuda.bindings import driver as cu

SUCCESS = cu.CUresult.CUDA_SUCCESS
INVALID_VALUE = cu.CUresult.CUDA_ERROR_INVALID_VALUE
INVALID_CONTEXT = cu.CUresult.CUDA_ERROR_INVALID_CONTEXT
INVALID_HANDLE = cu.CUresult.CUDA_ERROR_INVALID_HANDLE
OUT_OF_MEMORY = cu.CUresult.CUDA_ERROR_OUT_OF_MEMORY

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30


class Refused(Exception):
    """A call failed that a test needs in order to go on."""


def ok(answer: tuple):
    """What a call returned beside its success: nothing, one value, or several."""
    code, *values = answer
    if code != SUCCESS:
        raise Refused(f"{code!r} where success was needed")
    return values[0] if len(values) == 1 else tuple(values)


def free_bytes() -> int:
    """Free bytes on the current context's device."""
    return ok(cu.cuMemGetInfo())[0]


def about(left: int, right: int, slack: int = 4 * MIB) -> bool:
    """Whether two amounts of free memory are the same, but for what a driver keeps or takes for
    itself (page tables, slabs), of which the reference says nothing."""
    return abs(left - right) <= slack


def address(buffer) -> int:
    """Where a ctypes buffer starts."""
    return ctypes.addressof(buffer)


def pattern(size: int, seed: int = 0):
    """Host bytes that differ from their neighbours, and from those of another seed."""
    cycle = bytes((index * 31 + seed) % 251 for index in range(251))
    return ctypes.create_string_buffer((cycle * (size // 251 + 1))[:size], size)


def read_back(pointer, size: int) -> bytes:
    """What the device holds at an address."""
    host = ctypes.create_string_buffer(size)
    ok(cu.cuMemcpyDtoH(address(host), pointer, size))
    return host.raw


@contextlib.contextmanager
def primary_context(device: int = 0) -> Iterator:
    """The device's primary context, current inside the block."""
    handle = ok(cu.cuDeviceGet(device))
    context = ok(cu.cuDevicePrimaryCtxRetain(handle))
    ok(cu.cuCtxPushCurrent(context))
    try:
        yield context
    finally:
        ok(cu.cuCtxPopCurrent())
        ok(cu.cuDevicePrimaryCtxRelease(handle))


class Checks:
    """How many checks were made, and which of them failed."""

    def __init__(self) -> None:
        self.counts: dict[str, int] = {}
        self.failed: list[str] = []
        self._family = ""
        self._test = ""

    def family(self, name: str, tests: list[Callable], *arguments) -> None:
        """Runs the tests of a family; what breaks one of them is a failure like any other."""
        self._family = name
        self.counts[name] = 0
        for test in tests:
            self._test = test.__name__
            try:
                test(self, *arguments)
            except Exception as error:
                traceback.print_exc(file=sys.stderr)
                self.that(f"stopped: {error}", False)

    def that(self, what: str, holds) -> None:
        """One check."""
        self.counts[self._family] += 1
        if not holds:
            self.failed.append(f"{self._family}.{self._test}: {what}")
            print(f"FAILED {self.failed[-1]}", file=sys.stderr)

    def equal(self, what: str, found, expected) -> None:
        """Two values are the same."""
        self.that(f"{what}: {found!r}, not {expected!r}", found == expected)

    def answers(self, what: str, answer: tuple, *allowed) -> None:
        """A call answers with one of the codes that are documented for the case."""
        names = " or ".join(code.name for code in allowed)
        self.that(f"{what}: {answer[0]!r}, not {names}", answer[0] in allowed)

    def refused(self, what: str, answer: tuple) -> None:
        """A call fails, with whichever code: the documentation names none."""
        self.that(f"{what}: succeeded", answer[0] != SUCCESS)

    def summary(self) -> dict:
        """What is printed at the end."""
        return {
            "checks": sum(self.counts.values()),
            "families": self.counts,
            "failed": self.failed,
            "holds": not self.failed,
        }
