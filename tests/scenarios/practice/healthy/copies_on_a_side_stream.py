"""Batches are copied on a stream of their own while the one before is worked on; record_stream tells
the allocator. Both streams' caches settle after a few batches."""

import torch
from torch import nn


@torch.no_grad()
def main() -> None:
    model = nn.Sequential(nn.Linear(4096, 4096), nn.ReLU(), nn.Linear(4096, 1000)).cuda().eval()
    copies = torch.cuda.Stream()
    source = torch.randn(2048, 4096).pin_memory()
    upcoming = None
    for _ in range(80):
        current = upcoming
        with torch.cuda.stream(copies):
            upcoming = source.to("cuda", non_blocking=True)
        if current is not None:
            torch.cuda.current_stream().wait_stream(copies)
            current.record_stream(torch.cuda.current_stream())
            scores = model(current)
    print("scored", tuple(scores.shape))


main()
