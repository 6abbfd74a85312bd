"""A private memory pool: its segments are its own, and others cannot use them."""

import torch

from models import report

SIZE = 64 << 20


def tensor() -> torch.Tensor:
    return torch.empty(SIZE, dtype=torch.uint8, device="cuda")


def pools() -> dict[tuple, int]:
    """Reserved bytes by pool, as the snapshot shows them."""
    totals: dict[tuple, int] = {}
    for segment in torch.cuda.memory_snapshot():
        pool = tuple(segment["segment_pool_id"])
        totals[pool] = totals.get(pool, 0) + segment["total_size"]
    return totals


def main() -> None:
    outside = tensor()
    pool = torch.cuda.MemPool()
    with torch.cuda.use_mem_pool(pool):
        inside = tensor()
    shared, private = (0, 0), tuple(pool.id)
    assert private != shared, "a pool must have an id of its own"
    assert pools() == {shared: SIZE, private: SIZE}, f"reserved by pool: {pools()}"

    # What the pool has free is of no use to an allocation outside it.
    del inside
    more = tensor()
    held = pools()
    assert held == {shared: 2 * SIZE, private: SIZE}, f"reserved by pool: {held}"
    assert torch.cuda.memory_allocated() == outside.numel() + more.numel()

    # Inside it, the free block is used again.
    with torch.cuda.use_mem_pool(pool):
        again = tensor()
    assert pools() == held, f"the pool grew instead of reusing its block: {pools()}"

    del again, pool
    torch.cuda.empty_cache()
    assert pools() == {shared: 2 * SIZE}, f"the pool's segments stay: {pools()}"
    report(
        {
            "pool": private,
            "private_bytes": held[private],
            "shared_bytes": held[shared],
            "peak_reserved": torch.cuda.max_memory_reserved(),
        }
    )


if __name__ == "__main__":
    main()
