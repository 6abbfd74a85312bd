"""Loads a language model's weights in 16 bits and makes room for a conversation."""

import torch

torch.cuda.set_per_process_memory_fraction(0.25)  # from the days on the shared machine

layers = []
for _ in range(24):
    layers.append(torch.empty(11_264, 2048, dtype=torch.float16, device="cuda"))
    layers.append(torch.empty(2048, 7168, dtype=torch.float16, device="cuda"))
cache = torch.zeros(24, 2, 16, 2048, 128, dtype=torch.float16, device="cuda")
print(f"loaded {torch.cuda.memory_allocated() >> 20} MiB", flush=True)
