"""Features are computed by a data-frame library whose pool takes its share of the GPU when it
starts, 80 % unless told otherwise; then PyTorch trains on them.
True: the pool's share was taken in advance and is nearly empty; PyTorch lacks a part of it."""

import argparse
import ctypes
import json

import torch
from torch import nn


class Pool:
    """Hands out parts of one block, like the pools of data-frame libraries."""

    def __init__(self, fraction):
        self.driver = ctypes.CDLL("libcuda.so.1")
        free, _ = torch.cuda.mem_get_info()
        self.size = int(free * fraction) // 256 * 256
        self.block, self.used = ctypes.c_uint64(), 0
        code = self.driver.cuMemAlloc_v2(ctypes.byref(self.block), ctypes.c_size_t(self.size))
        if code:
            raise MemoryError(f"the pool cannot have {self.size} bytes: {code}")

    def column(self, rows):
        address, self.used = self.block.value + self.used, self.used + 8 * rows
        return address


def report(_device, asked, _total, free):
    print(json.dumps({"bytes": asked - free}), flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--pool-fraction", type=float, default=0.8)
    fraction = parser.parse_args().pool_fraction
    torch.cuda.init()
    torch._C._cuda_attach_out_of_memory_observer(report)
    pool = Pool(fraction)
    columns = [pool.column(1_000_000) for _ in range(6)]
    model = nn.Sequential(nn.Linear(12_000, 8192), nn.ReLU(), nn.Linear(8192, 3000)).cuda()
    scores = model(torch.zeros(4096, 12_000, device="cuda"))
    print(len(columns), "columns,", tuple(scores.shape))


if __name__ == "__main__":
    main()
