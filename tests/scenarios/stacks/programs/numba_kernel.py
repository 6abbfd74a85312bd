"""Adds vectors with a kernel that Numba compiles, and keeps some of them."""

import argparse
import json

import numpy
from numba import cuda

parser = argparse.ArgumentParser()
parser.add_argument("--count", type=int, default=8)
parser.add_argument("--megabytes", type=int, default=256)
arguments = parser.parse_args()


@cuda.jit
def add(x, y, out):
    index = cuda.grid(1)
    if index < out.size:
        out[index] = x[index] + y[index]


size = arguments.megabytes * (1 << 20) // 4
x = cuda.device_array(size, numpy.float32)
kept = []
for _ in range(arguments.count):
    out = cuda.device_array(size, numpy.float32)
    add[(size + 255) // 256, 256](x, x, out)
    kept.append(out)
cuda.synchronize()
free, total = cuda.current_context().get_memory_info()
print(json.dumps({"arrays": len(kept) + 1, "used": total - free}))
del x, out, kept
cuda.current_context().deallocations.clear()
