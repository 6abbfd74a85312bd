"""Scratch and results are made in turn, and only the results stay: every segment of PyTorch's cache is
held by one of them, reserved is six times what is allocated. All requests are met all the same, the
last one from the device."""

import torch


def block(mib: int) -> torch.Tensor:
    return torch.empty(mib << 20, dtype=torch.uint8, device="cuda")


results, scratch = [], []
for _ in range(50):
    scratch += [block(8), block(8)]
    results.append(block(3))
scratch.clear()
answer = block(300)
print("allocated", torch.cuda.memory_allocated(), "reserved", torch.cuda.memory_reserved())
