"""An inference engine takes its arena from the driver when it starts: engine.py [MIB]. PyTorch then works beside
it. True: the arena is what PyTorch lacks, and PyTorch cannot see it."""

import ctypes
import json
import sys

import torch

MIB = 1 << 20


class Engine:
    def __init__(self, size: int):
        self.arena = ctypes.c_uint64()
        code = ctypes.CDLL("libcuda.so.1").cuMemAlloc_v2(ctypes.byref(self.arena), ctypes.c_size_t(size))
        if code:
            raise RuntimeError(f"engine: CUDA error {code}")


def main() -> None:
    size = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    torch.cuda.init()
    torch.zeros(1, device="cuda")
    engine = Engine(size * MIB)
    print(json.dumps({"bytes": size * MIB}), flush=True)
    images = torch.zeros(800 * MIB, dtype=torch.uint8, device="cuda")
    print("images:", images.numel(), hex(engine.arena.value))


if __name__ == "__main__":
    main()
