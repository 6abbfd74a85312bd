"""Device memory: allocation, accounting, copies, pitch, managed memory, arrays."""

import ctypes

from cuda.bindings import driver as cu

from .checks import (
    GIB, INVALID_VALUE, KIB, MIB, OUT_OF_MEMORY, SUCCESS, Checks, about, address, free_bytes, ok,
    pattern, primary_context, read_back,
)


def allocation_and_accounting(checks: Checks) -> None:
    with primary_context():
        free, total = ok(cu.cuMemGetInfo())
        checks.that("free is at most total", 0 < free <= total)
        device = ok(cu.cuDeviceTotalMem(ok(cu.cuDeviceGet(0))))
        checks.that("total is at most the device's", total <= device)
        pointer = ok(cu.cuMemAlloc(64 * MIB))
        checks.that("64 MiB are taken", free - free_bytes() >= 64 * MIB)
        checks.equal("aligned for any variable", int(pointer) % 256, 0)
        ok(cu.cuMemFree(pointer))
        # Documented only as "free according to the OS"; a large block is not kept by any driver.
        checks.that("and given back", about(free, free_bytes()))


def refusals(checks: Checks) -> None:
    with primary_context():
        free, total = ok(cu.cuMemGetInfo())
        checks.answers("zero bytes", cu.cuMemAlloc(0), INVALID_VALUE)
        checks.answers("more than the device", cu.cuMemAlloc(total + GIB), OUT_OF_MEMORY)
        checks.that("which took nothing", about(free, free_bytes()))
        most = free * 6 // 10
        first = ok(cu.cuMemAlloc(most))
        checks.answers("60 % twice", cu.cuMemAlloc(most), OUT_OF_MEMORY)
        ok(cu.cuMemFree(first))
        second = cu.cuMemAlloc(most)
        checks.answers("60 % after the free", second, SUCCESS)
        ok(cu.cuMemFree(second[1]))


def wrong_frees(checks: Checks) -> None:
    # cuMemFree of a null pointer is left out: only the runtime's cudaFree documents it.
    with primary_context():
        pointer = ok(cu.cuMemAlloc(4 * MIB))
        checks.answers("inside a block", cu.cuMemFree(int(pointer) + 256), INVALID_VALUE)
        checks.answers("a host address", cu.cuMemFree(address(pattern(16))), INVALID_VALUE)
        ok(cu.cuMemFree(pointer))
        checks.answers("twice", cu.cuMemFree(pointer), INVALID_VALUE)


def address_range(checks: Checks) -> None:
    with primary_context():
        pointer = ok(cu.cuMemAlloc(3 * MIB))
        base, size = ok(cu.cuMemGetAddressRange(int(pointer) + MIB))
        checks.equal("base from inside", int(base), int(pointer))
        checks.equal("size as it was asked for", size, 3 * MIB)
        ok(cu.cuMemFree(pointer))
        # Both codes are listed; which of them an unknown address gets is not said.
        not_found = cu.CUresult.CUDA_ERROR_NOT_FOUND
        checks.answers("after the free", cu.cuMemGetAddressRange(pointer), not_found, INVALID_VALUE)


def pointer_attributes(checks: Checks) -> None:
    which = cu.CUpointer_attribute
    with primary_context() as context:
        pointer = ok(cu.cuMemAlloc(MIB))
        kind = ok(cu.cuPointerGetAttribute(which.CU_POINTER_ATTRIBUTE_MEMORY_TYPE, pointer))
        checks.equal("memory type", int(kind), int(cu.CUmemorytype.CU_MEMORYTYPE_DEVICE))
        owner = ok(cu.cuPointerGetAttribute(which.CU_POINTER_ATTRIBUTE_CONTEXT, pointer))
        checks.equal("context", int(owner), int(context))
        ordinal = ok(cu.cuPointerGetAttribute(which.CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, pointer))
        checks.equal("device", int(ordinal), 0)
        ok(cu.cuMemFree(pointer))
        unknown = cu.cuPointerGetAttribute(
            which.CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address(pattern(16)))
        checks.answers("memory that CUDA does not know", unknown, INVALID_VALUE)


def copies(checks: Checks) -> None:
    size = MIB + 12
    with primary_context():
        host = pattern(size)
        first, second = ok(cu.cuMemAlloc(size)), ok(cu.cuMemAlloc(size))
        ok(cu.cuMemcpyHtoD(first, address(host), size))
        checks.equal("there and back", read_back(first, size) == host.raw, True)
        ok(cu.cuMemcpyDtoD(second, first, size))
        checks.equal("device to device", read_back(second, size) == host.raw, True)
        stream = ok(cu.cuStreamCreate(0))
        other, back = pattern(size, seed=7), ctypes.create_string_buffer(size)
        ok(cu.cuMemcpyHtoDAsync(second, address(other), size, stream))
        ok(cu.cuMemcpyDtoHAsync(address(back), second, size, stream))
        ok(cu.cuStreamSynchronize(stream))
        checks.equal("in stream order", back.raw == other.raw, True)
        ok(cu.cuMemcpy(int(first), int(second), size))
        checks.equal("by unified addresses", read_back(first, size) == other.raw, True)
        ok(cu.cuStreamDestroy(stream))
        ok(cu.cuMemFree(first))
        ok(cu.cuMemFree(second))


def fills(checks: Checks) -> None:
    with primary_context():
        pointer = ok(cu.cuMemAlloc(KIB))
        ok(cu.cuMemsetD8(pointer, 0xA5, KIB))
        checks.equal("bytes", read_back(pointer, KIB), b"\xa5" * KIB)
        ok(cu.cuMemsetD16(pointer, 0x1234, 8))
        checks.equal("two-byte units", read_back(pointer, 17), b"\x34\x12" * 8 + b"\xa5")
        ok(cu.cuMemsetD32(int(pointer) + 32, 0x01020304, 4))
        checks.equal("four-byte units", read_back(int(pointer) + 32, 16), b"\x04\x03\x02\x01" * 4)
        ok(cu.cuMemFree(pointer))


def pitched(checks: Checks) -> None:
    with primary_context():
        pointer, pitch = ok(cu.cuMemAllocPitch(100, 8, 4))
        checks.that(f"pitch {pitch} holds a row", pitch >= 100)
        ok(cu.cuMemsetD8(pointer, 0, pitch * 8))
        ok(cu.cuMemsetD2D8(pointer, pitch, 0x11, 100, 8))
        row = read_back(int(pointer) + 7 * pitch, pitch)
        checks.equal("a filled row", row, b"\x11" * 100 + b"\0" * (pitch - 100))
        ok(cu.cuMemFree(pointer))


def managed(checks: Checks) -> None:
    size, everywhere = 256 * KIB, cu.CUmemAttach_flags.CU_MEM_ATTACH_GLOBAL
    with primary_context():
        checks.answers("zero bytes", cu.cuMemAllocManaged(0, everywhere), INVALID_VALUE)
        pointer = ok(cu.cuMemAllocManaged(size, everywhere))
        flag = cu.CUpointer_attribute.CU_POINTER_ATTRIBUTE_IS_MANAGED
        checks.that("known as managed", ok(cu.cuPointerGetAttribute(flag, pointer)))
        host = pattern(size, seed=3)
        ctypes.memmove(int(pointer), address(host), size)
        checks.equal("written by the host", read_back(pointer, size) == host.raw, True)
        ok(cu.cuMemsetD8(pointer, 0x42, size))
        ok(cu.cuCtxSynchronize())
        checks.equal("read by the host", ctypes.string_at(int(pointer), size), b"\x42" * size)
        checks.answers("freed", cu.cuMemFree(pointer), SUCCESS)


def arrays(checks: Checks) -> None:
    shape = cu.CUDA_ARRAY_DESCRIPTOR()
    shape.Width, shape.Height, shape.NumChannels = 4096, 0, 1
    shape.Format = cu.CUarray_format.CU_AD_FORMAT_FLOAT
    with primary_context():
        free = free_bytes()
        array = ok(cu.cuArrayCreate(shape))
        known = ok(cu.cuArrayGetDescriptor(array))
        checks.equal("width", (known.Width, known.Height, known.NumChannels), (4096, 0, 1))
        host, back = pattern(16 * KIB), ctypes.create_string_buffer(16 * KIB)
        ok(cu.cuMemcpyHtoA(array, 0, address(host), 16 * KIB))
        ok(cu.cuMemcpyAtoH(address(back), array, 0, 16 * KIB))
        checks.equal("there and back", back.raw == host.raw, True)
        ok(cu.cuArrayDestroy(array))
        shape.Width, shape.Height = 4096, 4096
        large = ok(cu.cuArrayCreate(shape))
        checks.that("64 MiB are taken", free - free_bytes() >= 64 * MIB)
        ok(cu.cuArrayDestroy(large))
        checks.that("and given back", about(free, free_bytes()))


FAMILY = [
    allocation_and_accounting, refusals, wrong_frees, address_range, pointer_attributes, copies,
    fills, pitched, managed, arrays,
]
