"""Is inside long operations of PyTorch, which release the interpreter's lock."""

import torch
from common import end, is_over, ready

torch.set_num_threads(1)
model = torch.empty(16 << 20, device="cuda")
matrix = torch.ones(3000, 3000)
ready(torch)
while not is_over():
    product = matrix @ matrix
end()
