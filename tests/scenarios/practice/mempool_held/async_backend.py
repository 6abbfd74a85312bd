"""PyTorch with backend:cudaMallocAsync, then an engine that allocates by the driver's own call.

True: PyTorch's tensors are gone; the driver's pool keeps what they had, for PyTorch sets its release
threshold to the maximum.
"""

import ctypes
import json

import torch

MIB = 1 << 20
POOL_RESERVED, POOL_USED = 5, 7


def preprocess() -> None:
    images = [torch.empty(128 * MIB, dtype=torch.uint8, device="cuda") for _ in range(9)]
    for image in images:
        image.add_(1)


driver = ctypes.CDLL("libcuda.so.1")


def pool_figure(which: int) -> int:
    pool, value = ctypes.c_void_p(), ctypes.c_uint64()
    assert driver.cuDeviceGetDefaultMemPool(ctypes.byref(pool), 0) == 0
    assert driver.cuMemPoolGetAttribute(pool, which, ctypes.byref(value)) == 0
    return value.value


preprocess()
torch.cuda.synchronize()
print(json.dumps({"bytes": pool_figure(POOL_RESERVED) - pool_figure(POOL_USED)}), flush=True)
engine = ctypes.c_uint64()
code = driver.cuMemAlloc_v2(ctypes.byref(engine), ctypes.c_size_t(1300 * MIB))
if code:
    raise RuntimeError(f"engine: cuMemAlloc failed with {code}")
