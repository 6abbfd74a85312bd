"""Two allocators in one process that keep what they were given: PyTorch's cache, and the driver's
stream-ordered pool with its threshold raised, as other libraries raise it. They take turns.

    hoarders.py EIGHTHS      of the device are in use at a time
"""

import ctypes
import os
import sys
from pathlib import Path

import torch

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "torch")]
import statistics_of_pool  # noqa: E402
from models import MIB, report  # noqa: E402

TURNS, PIECES = 4, 5
RELEASE_THRESHOLD = 4  # CU_MEMPOOL_ATTR_RELEASE_THRESHOLD


class Other:
    """A library that has memory from the driver's pool, and lets the pool keep it."""

    def __init__(self):
        self.driver = ctypes.CDLL("libcuda.so.1")
        pool, all_of_it = ctypes.c_void_p(), ctypes.c_uint64(2**64 - 1)
        self.check(self.driver.cuDeviceGetDefaultMemPool(ctypes.byref(pool), 0))
        self.check(
            self.driver.cuMemPoolSetAttribute(pool, RELEASE_THRESHOLD, ctypes.byref(all_of_it))
        )

    @staticmethod
    def check(code: int) -> None:
        if code:
            raise MemoryError(f"the driver answered {code}")

    def turn(self, size: int) -> None:
        pointers = [ctypes.c_uint64() for _ in range(PIECES)]
        for pointer in pointers:
            self.check(
                self.driver.cuMemAllocAsync(ctypes.byref(pointer), ctypes.c_size_t(size), None)
            )
        for pointer in pointers:
            self.check(self.driver.cuMemFreeAsync(pointer, None))
        self.check(self.driver.cuCtxSynchronize())


def torch_turn(size: int) -> None:
    pieces = [torch.empty(size, dtype=torch.uint8, device="cuda") for _ in range(PIECES)]
    del pieces
    torch.cuda.synchronize()


def taken_since(free: int) -> int:
    """What the process has of the device. A pool that serves the driver's calls lets what it keeps
    idle count as free: a program could have it."""
    idle = 0
    if os.environ.get("WHYOOM_POOL") == "everything":
        pool = statistics_of_pool.read()
        idle = pool["reserved"] - pool["allocated"]
    return free - torch.cuda.mem_get_info()[0] + idle


def main(eighths: int) -> None:
    torch.cuda.init()
    free = torch.cuda.mem_get_info()[0]
    piece = free * eighths // 8 // PIECES // (2 * MIB) * (2 * MIB)
    other, taken = Other(), []
    for _ in range(TURNS):
        torch_turn(piece)
        other.turn(piece)
        taken.append(taken_since(free))
    report({"turns": TURNS, "in_use": PIECES * piece, "taken": max(taken), "free_at_start": free})


if __name__ == "__main__":
    main(int(sys.argv[1]))
