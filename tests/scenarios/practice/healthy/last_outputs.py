"""The last 32 outputs are kept on the GPU to smooth the newest with them; the deque drops the oldest
by itself."""

from collections import deque

import torch
from torch import nn


@torch.no_grad()
def main() -> None:
    model = nn.Sequential(nn.Conv2d(3, 32, 3, padding=1), nn.ReLU(), nn.Conv2d(32, 20, 3, padding=1)).cuda()
    recent: deque[torch.Tensor] = deque(maxlen=32)
    for _ in range(150):
        recent.append(model(torch.randn(1, 3, 256, 256, device="cuda")))
        smooth = torch.stack(list(recent)).mean(0)
    print("frames smoothed over", len(recent), tuple(smooth.shape))


main()
