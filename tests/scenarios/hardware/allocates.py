"""Allocates 4 MiB and says by which allocator."""

import json

import torch

tensor = torch.ones(1 << 20, device="cuda")
backend = torch.cuda.memory.get_allocator_backend()
print(json.dumps({"allocated": torch.cuda.memory_allocated(), "backend": backend}))
