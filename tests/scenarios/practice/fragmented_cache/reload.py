"""Swaps one model for a larger one. True: statistics of the first lie between its layers and stay; the
second's matrices do not fit into the pieces that are left."""

import json

import torch
from torch import nn


def warm_up() -> None:
    torch.zeros(1300 << 20, dtype=torch.uint8, device="cuda")


def main() -> None:
    warm_up()
    statistics, layers = [], []
    with torch.device("cuda"):
        for _ in range(40):
            layers.append(nn.Linear(2048, 2048, bias=False))  # 16 MiB
            statistics.append(torch.zeros(1 << 20))  # 4 MiB
            layers.append(nn.Linear(1536, 2048, bias=False))  # 12 MiB
    del layers
    print(json.dumps({"bytes": torch.cuda.memory_reserved() - torch.cuda.memory_allocated()}), flush=True)
    with torch.device("cuda"):
        larger = [nn.Linear(4096, 8192, bias=False) for _ in range(3)]  # 128 MiB each
    print("loaded", len(larger), "layers; statistics", len(statistics))


if __name__ == "__main__":
    main()
