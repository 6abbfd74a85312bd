"""Trains, then starts the evaluation as a process of its own. True: the parent has freed its tensors, but its
cache keeps the memory; the child finds none."""

import json
import subprocess
import sys

import torch

CHILD = "import torch; x = torch.zeros(900 << 20, dtype=torch.uint8, device='cuda'); print(x.numel())"


def train() -> None:
    batch = torch.zeros(1200 << 20, dtype=torch.uint8, device="cuda")
    batch.fill_(1)


def main() -> None:
    train()
    cached = torch.cuda.memory_reserved() - torch.cuda.memory_allocated()
    print(json.dumps({"bytes": cached}), flush=True)
    subprocess.run([sys.executable, "-c", CHILD], check=True)


if __name__ == "__main__":
    main()
