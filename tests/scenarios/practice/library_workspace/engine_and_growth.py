"""An inference engine with an arena of 1000 MiB, and a loop beside it that collects its results on the GPU. True:
the arena is the larger part; the list is what grows until nothing is left."""

import ctypes
import json

import torch

MIB = 1 << 20


class Engine:
    def __init__(self, size: int):
        self.arena = ctypes.c_uint64()
        driver = ctypes.CDLL("libcuda.so.1")
        if driver.cuMemAlloc_v2(ctypes.byref(self.arena), ctypes.c_size_t(size)):
            raise RuntimeError("engine: no memory")


def main() -> None:
    torch.zeros(1, device="cuda")
    Engine(1000 * MIB)
    print(json.dumps({"bytes": 1000 * MIB}), flush=True)
    results = []
    for _ in range(200):
        frame = torch.zeros(20 * MIB, dtype=torch.uint8, device="cuda")
        results.append(frame[: 10 * MIB].clone())
    print("results:", len(results))


if __name__ == "__main__":
    main()
