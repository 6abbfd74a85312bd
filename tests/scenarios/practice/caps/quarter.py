"""A worker that shares its GPU and was given a quarter of it.

True: the device has room; the fraction that the program set is what is full.
"""

import torch

torch.cuda.set_per_process_memory_fraction(0.25)
kept = [torch.empty(160 << 20, dtype=torch.uint8, device="cuda") for _ in range(5)]
print(len(kept))
