"""Runs on GPUs that compute in bfloat16 only."""

import torch

if torch.cuda.get_device_capability() < (8, 0):
    raise ValueError("this model needs compute capability 8.0 or newer")
model = torch.nn.Linear(4096, 4096, device="cuda", dtype=torch.bfloat16)
for _ in range(12):
    model(torch.ones(64, 4096, device="cuda", dtype=torch.bfloat16))
