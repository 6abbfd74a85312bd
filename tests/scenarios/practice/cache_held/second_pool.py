"""Two array libraries in one process, each with a pool of its own. True: the second library's pool is empty, the
first one's (PyTorch's) is full of free blocks; what is live of it is a tenth."""

import ctypes
import json

import torch

MIB = 1 << 20


class ArrayPool:
    def __init__(self):
        self.driver = ctypes.CDLL("libcuda.so.1")
        self.used = 0

    def malloc(self, size: int) -> int:
        address = ctypes.c_uint64()
        if self.driver.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(size)):
            text = f"Out of memory allocating {size:,} bytes (allocated so far: {self.used:,} bytes)."
            raise MemoryError(text)
        self.used += size
        return address.value


def features() -> torch.Tensor:
    layers = [torch.zeros(100 * MIB, dtype=torch.uint8, device="cuda") for _ in range(14)]
    return layers[3]


def main() -> None:
    kept = features()
    print(json.dumps({"bytes": torch.cuda.memory_reserved() - torch.cuda.memory_allocated()}), flush=True)
    frame = ArrayPool().malloc(1000 * MIB)
    print("data frame at", hex(frame), "features", kept.numel())


if __name__ == "__main__":
    main()
