"""Loads a language model's weights in 16 bits and generates. A line from a shared machine is
still in the script, which allows a quarter of the GPU.
True: the GPU has the room, the line forbids it."""

import json

import torch

torch.cuda.set_per_process_memory_fraction(0.25, 0)


def report(_device, _asked, allowed, _free):
    capacity = torch.cuda.get_device_properties(0).total_memory
    print(json.dumps({"bytes": capacity - allowed}), flush=True)


def main():
    torch._C._cuda_attach_out_of_memory_observer(report)
    weights = []
    for _ in range(24):
        weights.append(torch.empty(3 * 1024 + 2 * 4096, 2048, dtype=torch.float16, device="cuda"))
        weights.append(torch.empty(2048, 4096 + 3072, dtype=torch.float16, device="cuda"))
    cache = torch.zeros(24, 2, 1, 16, 2048, 128, dtype=torch.float16, device="cuda")
    print(len(weights), "weights and a cache of", cache.numel(), "numbers")


if __name__ == "__main__":
    main()
