"""Legacy handles of memory and events, between two real processes."""

import ctypes
import json
import subprocess
import sys

from cuda.bindings import driver as cu

from .checks import (
    INVALID_CONTEXT, INVALID_VALUE, MIB, Checks, address, free_bytes, ok, pattern, primary_context,
    read_back,
)

SIZE = 32 * MIB
FLAG = cu.CUipcMem_flags.CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS

CHILD = """
import ctypes, json, sys
from cuda.bindings import driver as cu
def ok(answer):
    code, *values = answer
    assert code == cu.CUresult.CUDA_SUCCESS, code
    return values[0] if len(values) == 1 else tuple(values)
ok(cu.cuInit(0))
ok(cu.cuCtxSetCurrent(ok(cu.cuDevicePrimaryCtxRetain(ok(cu.cuDeviceGet(0))))))
memory, event = cu.CUipcMemHandle(), cu.CUipcEventHandle()
ctypes.memmove(memory.getPtr(), bytes.fromhex(sys.argv[1]), 64)
ctypes.memmove(event.getPtr(), bytes.fromhex(sys.argv[2]), 64)
before = ok(cu.cuMemGetInfo())[0]
first = int(ok(cu.cuIpcOpenMemHandle(memory, 1)))
second = int(ok(cu.cuIpcOpenMemHandle(memory, 1)))
opened = ok(cu.cuIpcOpenEventHandle(event))
ok(cu.cuEventSynchronize(opened))
ok(cu.cuEventDestroy(opened))
host = ctypes.create_string_buffer(64)
ok(cu.cuMemcpyDtoH(ctypes.addressof(host), first, 64))
ok(cu.cuMemsetD8(first + 64, 5, 64))
print(json.dumps({
    "same": first == second, "taken": before - ok(cu.cuMemGetInfo())[0], "read": host.raw.hex(),
    "freed": int(cu.cuMemFree(first)[0]),
    "closed": [int(cu.cuIpcCloseMemHandle(first)[0]) for _ in range(3)],
}), flush=True)
"""


def between_processes(checks: Checks) -> None:
    with primary_context():
        host = pattern(SIZE)
        pointer = ok(cu.cuMemAlloc(SIZE))
        ok(cu.cuMemcpyHtoD(pointer, address(host), SIZE))
        before = free_bytes()
        handle = ok(cu.cuIpcGetMemHandle(pointer))
        again = ok(cu.cuIpcGetMemHandle(pointer))
        checks.equal("one handle", raw(handle), raw(again))
        checks.equal("which costs nothing", free_bytes(), before)
        checks.equal("nor changes anything", read_back(pointer, 256), host.raw[:256])
        flags = cu.CUevent_flags
        shared = flags.CU_EVENT_INTERPROCESS | flags.CU_EVENT_DISABLE_TIMING
        event = ok(cu.cuEventCreate(int(shared)))
        ok(cu.cuEventRecord(event, 0))
        opened = cu.cuIpcOpenMemHandle(handle, FLAG)
        checks.answers("opening it here", opened, INVALID_CONTEXT)
        told = child(handle, ok(cu.cuIpcGetEventHandle(event)))
        checks.equal("the child reads it", bytes.fromhex(told["read"]), host.raw[:64])
        checks.equal("at one address", told["same"], True)
        checks.equal("for no memory", told["taken"], 0)
        checks.equal("it is not the child's to free", told["freed"], 1)
        checks.equal("closed as often as opened", told["closed"], [0, 0, 1])
        checks.equal("what it wrote", read_back(int(pointer) + 64, 64), bytes([5] * 64))
        ok(cu.cuMemFree(pointer))
        checks.answers("freed memory", cu.cuIpcGetMemHandle(pointer), INVALID_VALUE)


def raw(handle) -> bytes:
    """The 64 bytes that are passed to another process."""
    return ctypes.string_at(handle.getPtr(), 64)


def child(memory, event) -> dict:
    command = [sys.executable, "-c", CHILD, raw(memory).hex(), raw(event).hex()]
    return json.loads(subprocess.run(command, check=True, capture_output=True, timeout=60).stdout)


EXPORTER = """
import ctypes
from cuda.bindings import driver as cu
cu.cuInit(0)
cu.cuCtxSetCurrent(cu.cuDevicePrimaryCtxRetain(0)[1])
handle = cu.cuIpcGetMemHandle(cu.cuMemAlloc(1 << 21)[1])[1]
print(ctypes.string_at(handle.getPtr(), 64).hex())
"""


def after_the_exporter(checks: Checks) -> None:
    """Which error it is, is not documented."""
    command = [sys.executable, "-c", EXPORTER]
    told = subprocess.run(command, check=True, capture_output=True, timeout=60).stdout
    handle = cu.CUipcMemHandle()
    ctypes.memmove(handle.getPtr(), bytes.fromhex(told.decode()), 64)
    with primary_context():
        checks.refused("memory of a process that has ended", cu.cuIpcOpenMemHandle(handle, FLAG))


def misuse(checks: Checks) -> None:
    with primary_context():
        managed = ok(cu.cuMemAllocManaged(MIB, cu.CUmemAttach_flags.CU_MEM_ATTACH_GLOBAL))
        checks.answers("managed memory", cu.cuIpcGetMemHandle(managed), INVALID_VALUE)
        ok(cu.cuMemFree(managed))
        checks.answers("no handle", cu.cuIpcOpenMemHandle(cu.CUipcMemHandle(), FLAG), INVALID_VALUE)
        checks.answers("not opened", cu.cuIpcCloseMemHandle(4096), INVALID_VALUE)
        timed = int(cu.CUevent_flags.CU_EVENT_INTERPROCESS)
        checks.answers("a timed event", cu.cuEventCreate(timed), INVALID_VALUE)
        own = ok(cu.cuEventCreate(2))
        checks.refused("an event of one process", cu.cuIpcGetEventHandle(own))


FAMILY = [between_processes, after_the_exporter, misuse]
