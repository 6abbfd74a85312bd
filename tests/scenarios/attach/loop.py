"""Computes in Python, without a call that waits."""

import torch
from common import end, is_over, ready

model = torch.empty(16 << 20, device="cuda")
ready(torch)
number = 0
while number % 100_000 or not is_over():
    number += 1
end()
