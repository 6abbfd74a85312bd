"""Faults on demand, as a client of the driver and of NVML meets them.

    whyoom lab run --memory 8GiB --fault fail=3 -- faults.py fail

Prints one JSON line; exits with 1 when a check failed.
"""

import json
import sys
import time
from pathlib import Path

import pynvml
from cuda.bindings import driver as cu

from driver_suite.checks import GIB, MIB, OUT_OF_MEMORY, Checks, free_bytes, ok, primary_context

NOT_READY = cu.CUresult.CUDA_ERROR_NOT_READY
PTX = b".version 8.0\n.target sm_75\n.address_size 64\n.visible .entry nothing()\n{\n ret;\n}\n\0"


def holders() -> dict[int, int]:
    """Other processes on the device, with their bytes, as NVML lists them."""
    pynvml.nvmlInit()
    listed = pynvml.nvmlDeviceGetComputeRunningProcesses(pynvml.nvmlDeviceGetHandleByIndex(0))
    return {process.pid: process.usedGpuMemory for process in listed}


def only_holder(checks: Checks) -> int:
    """The one process that holds the gibibyte that the fault asked for."""
    held = holders()
    checks.equal("one process holds what was asked for", list(held.values()), [GIB])
    return next(iter(held))


def stat(pid: int) -> list[str]:
    """State and parent of a process, from the kernel."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()


def fail(checks: Checks) -> None:
    with primary_context():
        answers = [cu.cuMemAlloc(32 * MIB) for _ in range(4)]
        codes = [int(answer[0]) for answer in answers]
        checks.equal("the third allocation fails, and only it", codes, [0, 0, int(OUT_OF_MEMORY), 0])


def ecc(checks: Checks) -> None:
    checks.equal("a sixteenth is gone", ok(cu.cuDeviceTotalMem(0)), 8 * GIB - GIB // 2)


def orphan(checks: Checks) -> None:
    parent = int(stat(only_holder(checks))[1])
    command = Path(f"/proc/{parent}/cmdline").read_bytes()
    checks.that(f"its parent is not the lab: {command!r}", b"whyoom" not in command)


def ghost(checks: Checks) -> None:
    pid = only_holder(checks)
    checks.that("the kernel does not know it", not Path(f"/proc/{pid}").exists())


def stuck(checks: Checks) -> None:
    pid = only_holder(checks)
    deadline = time.monotonic() + 5
    while stat(pid)[0] != "D" and time.monotonic() < deadline:
        time.sleep(0.05)
    checks.equal("it sleeps uninterruptibly", stat(pid)[0], "D")


def tenant(checks: Checks) -> None:
    with primary_context():
        before = free_bytes()
        deadline = time.monotonic() + 10
        while free_bytes() == before and time.monotonic() < deadline:
            time.sleep(0.05)
        checks.equal("it took its share after a while", before - free_bytes(), GIB)


def slow_sync(checks: Checks) -> None:
    with primary_context():
        started = time.monotonic()
        ok(cu.cuCtxSynchronize())
        checks.that("a synchronize takes its time", time.monotonic() - started >= 0.05)


def busy(checks: Checks) -> None:
    """A kernel that runs for a while: events, queries and freed memory wait for it."""
    with primary_context():
        nothing = ok(cu.cuModuleGetFunction(ok(cu.cuModuleLoadData(PTX)), b"nothing"))
        one, two = ok(cu.cuStreamCreate(1)), ok(cu.cuStreamCreate(1))
        event = ok(cu.cuEventCreate(0))
        pool = ok(cu.cuDeviceGetDefaultMemPool(0))
        # No stream may be made to wait for another's memory: what is pending must show.
        rule = cu.CUmemPool_attribute.CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES
        ok(cu.cuMemPoolSetAttribute(pool, rule, 0))
        keep = cu.CUmemPool_attribute.CU_MEMPOOL_ATTR_RELEASE_THRESHOLD
        ok(cu.cuMemPoolSetAttribute(pool, keep, cu.cuuint64_t(GIB)))
        first = ok(cu.cuMemAllocAsync(32 * MIB, one))
        ok(cu.cuLaunchKernel(nothing, 1, 1, 1, 32, 1, 1, 0, one, 0, 0))
        ok(cu.cuEventRecord(event, one))
        ok(cu.cuMemFreeAsync(first, one))
        checks.equal("the event waits", cu.cuEventQuery(event)[0], NOT_READY)
        checks.equal("the stream waits", cu.cuStreamQuery(one)[0], NOT_READY)
        checks.equal("the other does not", int(cu.cuStreamQuery(two)[0]), 0)
        other = ok(cu.cuMemAllocAsync(32 * MIB, two))
        checks.that("memory of a pending free is not used again", int(other) != int(first))
        ok(cu.cuEventSynchronize(event))
        checks.equal("and then it is done", int(cu.cuEventQuery(event)[0]), 0)
        again = ok(cu.cuMemAllocAsync(32 * MIB, two))
        checks.equal("now it is used again", int(again), int(first))


def main(fault: str) -> int:
    ok(cu.cuInit(0))
    checks = Checks()
    checks.family(fault, [globals()[fault.replace("-", "_")]])
    print(json.dumps({"suite": f"fault {fault}", **checks.summary()}))
    return 1 if checks.failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
