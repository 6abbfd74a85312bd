"""Segments large pictures with cuDNN told to look for its fastest algorithms: the first step
takes several times what the later ones do. True: the search's workspaces are given back after it;
every later step is the same."""

import torch
from torch import nn

torch.backends.cudnn.benchmark = True


@torch.no_grad()
def main():
    model = nn.Sequential(
        nn.Conv2d(3, 64, 3, padding=1), nn.ReLU(), nn.Conv2d(64, 64, 3, padding=1), nn.ReLU(),
        nn.Conv2d(64, 21, 1),
    ).cuda().half()
    for step in range(12):
        torch.cuda.reset_peak_memory_stats()
        pictures = torch.zeros(2, 3, 1024, 1024).half().cuda()
        labels = model(pictures).argmax(dim=1).cpu()
        peak = torch.cuda.max_memory_allocated() >> 20
        print("step", step, "labels", tuple(labels.shape), "peak", peak, "MiB", flush=True)


if __name__ == "__main__":
    main()
