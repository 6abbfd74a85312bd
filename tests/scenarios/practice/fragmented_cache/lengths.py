"""Scores texts of different lengths and keeps a summary of each for a while. True: what lives is little; the
summaries lie in segments that were made for larger tensors, and pin them."""

import collections
import json
import random

import torch


def cached() -> int:
    return torch.cuda.memory_reserved() - torch.cuda.memory_allocated()


def score(length: int) -> torch.Tensor:
    hidden = torch.zeros(length, 8192, device="cuda")
    return torch.cat([hidden[:, :512], hidden[:, 512:1024]], dim=1)


def main() -> None:
    random.seed(3)
    kept = collections.deque(maxlen=60)
    try:
        for _ in range(400):
            kept.append(score(random.randrange(400, 5000)))
        torch.zeros(800 << 20, dtype=torch.uint8, device="cuda")
        print("scored")
    except torch.OutOfMemoryError:
        print(json.dumps({"bytes": cached()}), flush=True)
        raise


if __name__ == "__main__":
    main()
