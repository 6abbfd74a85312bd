"""Loads layers of an odd size. True: each is rounded up by roundup_power2_divisions, which the environment sets
for the sake of another job; as asked for, they would fit."""

import json

import torch


def main() -> None:
    layers = []
    try:
        for _ in range(18):
            layers.append(torch.empty(68 << 20, dtype=torch.uint8, device="cuda"))
        print("layers:", len(layers))
    except torch.OutOfMemoryError:
        stats = torch.cuda.memory_stats()
        waste = stats["allocated_bytes.all.current"] - stats["requested_bytes.all.current"]
        print(json.dumps({"bytes": waste}), flush=True)
        raise


if __name__ == "__main__":
    main()
