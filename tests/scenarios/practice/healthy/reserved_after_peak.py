"""One very large batch at the start, small ones ever after: PyTorch keeps what the peak needed, and
nvidia-smi shows it to the end. Nothing but this program wants the GPU."""

import torch
from torch import nn


@torch.no_grad()
def main() -> None:
    net = nn.Sequential(nn.Conv2d(3, 28, 3), nn.MaxPool2d(3, 2, 1), nn.MaxPool2d(3, 2, 1)).cuda()
    net(torch.randn(128, 3, 224, 224, device="cuda"))
    for _ in range(100):
        net(torch.randn(2, 3, 224, 224, device="cuda"))
    print("allocated", torch.cuda.memory_allocated(), "reserved", torch.cuda.memory_reserved())


main()
