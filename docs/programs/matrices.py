"""Multiplies some matrices: a small run to record."""

import torch

kept = [torch.zeros(1024, 1024, device="cuda") for _ in range(24)]
for matrix in kept:
    product = matrix @ kept[0]
print("24 products", flush=True)
