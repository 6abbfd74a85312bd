"""Puts a model of so many MiB on the GPU."""

import sys

import torch

layers = [
    torch.nn.Linear(4096, 4096, bias=False, device="cuda")  # 64 MiB each
    for _ in range(int(sys.argv[1]) // 64)
]
print(f"{len(layers)} layers on {torch.cuda.get_device_name(0)}")
