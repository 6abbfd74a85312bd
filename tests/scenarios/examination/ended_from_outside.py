"""A training that would go on for a long time; it writes its process number to a file."""

import os
import sys
import time

import torch
from torch import nn


def main():
    model = nn.Linear(2000, 2000).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(2000):
        model(torch.randn(256, 2000, device="cuda")).mean().backward()
        optimizer.step()
        optimizer.zero_grad()
        time.sleep(0.02)
        if step == 30:
            with open(sys.argv[1], "w", encoding="ascii") as started:
                started.write(str(os.getpid()))


if __name__ == "__main__":
    main()
