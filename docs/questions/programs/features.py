"""Features from a data-frame library, then a network on them: features.py [SHARE]

The library's pool takes its share of the GPU when it starts, as such pools do.
"""

import ctypes
import sys

import torch
from torch import nn

share = float(sys.argv[1]) if len(sys.argv) > 1 else 0.8


def start_pool():
    free, _ = torch.cuda.mem_get_info()
    block, driver = ctypes.c_uint64(), ctypes.CDLL("libcuda.so.1")
    driver.cuMemAlloc_v2(ctypes.byref(block), ctypes.c_size_t(int(free * share)))
    return block  # columns are cut from it


torch.cuda.init()
pool = start_pool()
network = nn.Sequential(nn.Linear(12_000, 8192), nn.ReLU(), nn.Linear(8192, 3000)).cuda()
scores = network(torch.zeros(4096, 12_000, device="cuda"))
print("scores for", len(scores), "rows", flush=True)
