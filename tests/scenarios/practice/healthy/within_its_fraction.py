"""The process may use half of the GPU, and stays within it, closely: no request is refused."""

import torch
from torch import nn

torch.cuda.set_per_process_memory_fraction(0.5)
model = nn.Sequential(nn.Linear(4096, 16384), nn.ReLU(), nn.Linear(16384, 4096)).cuda()
with torch.no_grad():
    for _ in range(50):
        model(torch.randn(2048, 4096, device="cuda"))
free, total = torch.cuda.mem_get_info()
print("reserved", torch.cuda.memory_reserved(), "of", total // 2)
