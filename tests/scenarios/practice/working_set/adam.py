"""The first step of Adam. True: weights and gradients fit, the two moments of Adam beside them do not.
With --lora only a small adapter is trained, and has state."""

import argparse
import os
import sys

import torch
from torch import nn

import missing


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--lora", action="store_true")
    lora = parser.parse_args().lora
    with torch.device("cuda"):
        base = nn.Sequential(*(nn.Linear(4096, 4096, bias=False) for _ in range(8)))
        adapter = nn.Sequential(nn.Linear(4096, 8, bias=False), nn.Linear(8, 4096, bias=False))
    if lora:
        base.requires_grad_(False)
    trained = [p for p in [*base.parameters(), *adapter.parameters()] if p.requires_grad]
    optimizer = torch.optim.Adam(trained)
    for _ in range(2):
        x = torch.randn(4, 4096).cuda()
        (base(x) + adapter(x)).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
    print("steps done")
    sys.stdout.flush()
    os._exit(0)


if __name__ == "__main__":
    with missing.told():
        main()
