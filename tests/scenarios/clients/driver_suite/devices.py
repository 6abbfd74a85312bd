"""Initialization, and what can be known of a device without a context."""

import re

from cuda.bindings import driver as cu

from .checks import INVALID_VALUE, Checks, ok

ATTRIBUTE = cu.CUdevice_attribute
BUS_ID = re.compile(r"[0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-9A-Fa-f]")


def attribute(which, device: int = 0) -> int:
    return ok(cu.cuDeviceGetAttribute(which, ok(cu.cuDeviceGet(device))))


def before_initialization(checks: Checks) -> None:
    uninitialized = cu.CUresult.CUDA_ERROR_NOT_INITIALIZED
    checks.answers("devices before cuInit", cu.cuDeviceGetCount(), uninitialized)
    checks.answers("allocation before cuInit", cu.cuMemAlloc(1 << 20), uninitialized)
    checks.answers("cuInit with flags", cu.cuInit(1), INVALID_VALUE)


def initialization(checks: Checks) -> None:
    ok(cu.cuInit(0))
    checks.answers("cuInit again", cu.cuInit(0), cu.CUresult.CUDA_SUCCESS)
    version = ok(cu.cuDriverGetVersion())
    checks.that(f"driver version {version} is of CUDA 13 or later", version >= 13000)


def names_of_errors(checks: Checks) -> None:
    code = cu.CUresult.CUDA_ERROR_OUT_OF_MEMORY
    checks.equal("name of error 2", ok(cu.cuGetErrorName(code)), b"CUDA_ERROR_OUT_OF_MEMORY")
    checks.that("its description is not empty", ok(cu.cuGetErrorString(code)))


def every_device(checks: Checks) -> None:
    count = ok(cu.cuDeviceGetCount())
    checks.that("there is a device", count > 0)
    seen = set()
    for index in range(count):
        device = ok(cu.cuDeviceGet(index))
        checks.that("it has a name", ok(cu.cuDeviceGetName(100, device)).strip(b"\0"))
        checks.that("it has memory", ok(cu.cuDeviceTotalMem(device)) > 0)
        bus_id = ok(cu.cuDeviceGetPCIBusId(64, device)).split(b"\0")[0].decode()
        checks.that(f"its bus id {bus_id!r} has the form", BUS_ID.fullmatch(bus_id))
        found = ok(cu.cuDeviceGetByPCIBusId(bus_id.encode()))
        checks.equal("found by its bus id", int(found), int(device))
        seen.add((bus_id, bytes(ok(cu.cuDeviceGetUuid(device)).bytes)))
    checks.equal("devices have their own bus id and UUID", len(seen), count)
    # The reference lists both codes and does not say which is for an ordinal out of range.
    invalid_device = cu.CUresult.CUDA_ERROR_INVALID_DEVICE
    checks.answers("one too many", cu.cuDeviceGet(count), invalid_device, INVALID_VALUE)


def attributes(checks: Checks) -> None:
    capability = attribute(ATTRIBUTE.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)
    checks.that(f"compute capability {capability} is one that CUDA 13 knows", capability >= 7)
    threads = attribute(ATTRIBUTE.CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK)
    checks.equal("threads of a block", threads, 1024)
    checks.equal("threads of a warp", attribute(ATTRIBUTE.CU_DEVICE_ATTRIBUTE_WARP_SIZE), 32)
    default = attribute(ATTRIBUTE.CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK)
    opt_in = attribute(ATTRIBUTE.CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)
    checks.that("shared memory: by default at most what can be opted in to", 0 < default <= opt_in)
    processors = attribute(ATTRIBUTE.CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)
    checks.that(f"{processors} multiprocessors", processors > 0)
    for name in ("UNIFIED_ADDRESSING", "MEMORY_POOLS_SUPPORTED", "MANAGED_MEMORY",
                 "VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED",
                 "HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED"):
        which = getattr(ATTRIBUTE, f"CU_DEVICE_ATTRIBUTE_{name}")
        checks.equal(f"{name}, which the other checks use", attribute(which), 1)


FAMILY = [before_initialization, initialization, names_of_errors, every_device, attributes]
