"""A preprocessing step works in a memory pool of its own. True: when it is done all of the pool is free, but
reserved to it for as long as the pool lives."""

import json

import torch


def prepare(pool: torch.cuda.MemPool) -> torch.Tensor:
    with torch.cuda.use_mem_pool(pool):
        images = torch.zeros(900 << 20, dtype=torch.uint8, device="cuda")
        mean = images[: 1 << 20].float().mean()
    return mean.clone()


def main() -> None:
    pool = torch.cuda.MemPool()
    mean = prepare(pool)
    segments = [s for s in torch.cuda.memory_snapshot() if tuple(s["segment_pool_id"]) == tuple(pool.id)]
    held = sum(b["size"] for s in segments for b in s["blocks"] if b["state"] == "inactive")
    print(json.dumps({"bytes": held}), flush=True)
    features = torch.zeros(1000 << 20, dtype=torch.uint8, device="cuda")
    print("features:", features.numel(), float(mean))


if __name__ == "__main__":
    main()
