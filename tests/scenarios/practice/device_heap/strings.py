"""A text kernel that makes strings with new, started through cuda-bindings.

True: the heap for allocations inside kernels is full (8 MiB, nobody set it), the device is empty.
"""

import ctypes

from cuda.bindings import driver as cu

PTX = b"""
.version 7.0
.target sm_75
.address_size 64
.extern .func (.param .b64 address) malloc (.param .b64 size);
.visible .entry split_words(.param .u64 text)
{
    ret;
}
"""


def ok(answer):
    code, *values = answer
    if code != cu.CUresult.CUDA_SUCCESS:
        raise RuntimeError(f"{code.name}")
    return values[0] if len(values) == 1 else values


ok(cu.cuInit(0))
context = ok(cu.cuDevicePrimaryCtxRetain(ok(cu.cuDeviceGet(0))))
ok(cu.cuCtxSetCurrent(context))
module = ok(cu.cuModuleLoadData(PTX))
kernel = ok(cu.cuModuleGetFunction(module, b"split_words"))
text = ok(cu.cuMemAlloc(32 << 20))
place = ctypes.c_uint64(int(text))
arguments = (ctypes.c_void_p * 1)(ctypes.addressof(place))
ok(cu.cuLaunchKernel(kernel, 256, 1, 1, 128, 1, 1, 0, 0, ctypes.addressof(arguments), 0))
ok(cu.cuCtxSynchronize())
print("words:", 0)
