"""Feature maps are freed, their place is filled with rows of which some stay; then a larger batch comes. With
max_split_size_mb:200 in force, as a colleague advised. True: blocks below that limit are split all the same."""

import json

import torch


def main() -> None:
    maps = [torch.zeros(192 << 20, dtype=torch.uint8, device="cuda") for _ in range(7)]
    maps.clear()
    rows = [torch.zeros(16 << 20, dtype=torch.uint8, device="cuda") for _ in range(84)]
    rows = rows[::6]
    print(json.dumps({"bytes": torch.cuda.memory_reserved() - torch.cuda.memory_allocated()}), flush=True)
    batch = torch.zeros(420 << 20, dtype=torch.uint8, device="cuda")
    print("batch:", batch.numel(), "rows:", len(rows))


if __name__ == "__main__":
    main()
