"""Asks for much, hears that it does not fit, and asks for less."""

import json

import torch

kept = torch.empty(1 << 20, dtype=torch.uint8, device="cuda")
caught = ""
try:
    torch.empty(1 << 30, dtype=torch.uint8, device="cuda")
except Exception as error:
    caught = type(error).__name__
reserved = torch.cuda.memory_reserved()
smaller = torch.empty(64 << 20, dtype=torch.uint8, device="cuda")
print(json.dumps({"caught": caught, "reserved_bytes": reserved, "smaller_bytes": smaller.numel()}))
