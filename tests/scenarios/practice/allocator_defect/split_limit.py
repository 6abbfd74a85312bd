"""Features of videos: each step keeps a small one, and a decoder of its own needs memory at the end."""

import ctypes
import json

import torch

MIB = 1 << 20


def buffer(mib):
    return torch.empty(int(mib * MIB), dtype=torch.uint8, device="cuda")


def steps(count):
    kept = [buffer(64)]
    for _ in range(count):
        frames, features = buffer(91), buffer(45.5)
        kept.append(buffer(2))
        del frames, features
    return kept


def main():
    kept = steps(50)
    stats = torch.cuda.memory_stats()
    unused = stats["reserved_bytes.all.current"] - stats["allocated_bytes.all.current"]
    print(json.dumps({"bytes": unused}), flush=True)
    memory, driver = ctypes.c_uint64(), ctypes.CDLL("libcuda.so.1")
    code = driver.cuMemAlloc_v2(ctypes.byref(memory), ctypes.c_size_t(3 * 1024 * MIB))
    if code != 0:
        raise RuntimeError(f"the decoder found no memory: CUDA error {code}")
    print(len(kept))


main()
