"""Fills the first GPU with tensors until memory runs out."""

import torch

kept = []
while True:
    kept.append(torch.empty(128 << 20, dtype=torch.uint8, device="cuda"))
