"""A loop of randn, del and empty_cache, then a larger tensor. True: nothing is wrong.

Emptying the cache each step prevents nothing here: it only makes every step ask
the driver again.
"""

import torch

from models import MIB, report

STEPS = 10


def loop(empty: bool) -> tuple[int, int]:
    """Segments asked of the driver, and bytes left reserved at the end."""
    torch.cuda.empty_cache()
    torch.cuda.reset_accumulated_memory_stats()
    for _ in range(STEPS):
        tensor = torch.randn(64 * MIB // 4, device="cuda")
        del tensor
        if empty:
            torch.cuda.empty_cache()
    segments = torch.cuda.memory_stats()["segment.all.allocated"]
    return segments, torch.cuda.memory_reserved()


def main() -> None:
    with_empty, left = loop(empty=True)
    larger = torch.randn(256 * MIB // 4, device="cuda")
    assert larger.numel() * 4 == 256 * MIB
    assert left == 0, f"{left} bytes stay reserved after empty_cache"
    del larger
    without_empty, kept = loop(empty=False)
    assert with_empty == STEPS, f"{with_empty} segments in {STEPS} steps with empty_cache"
    assert without_empty == 1, f"{without_empty} segments without; one serves all steps"

    stats = torch.cuda.memory_stats()
    assert stats["num_ooms"] == stats["num_alloc_retries"] == 0, "nothing may have failed"
    largest = max(b["size"] for s in torch.cuda.memory_snapshot() for b in s["blocks"])
    assert largest == kept, f"fragmented: largest free block {largest} of {kept}"
    report(
        {
            "cause": "healthy",
            "segments_with_empty_cache": with_empty,
            "segments_without": without_empty,
            "free_in_cache": kept,
            "largest_free": largest,
            "live": torch.cuda.memory_allocated(),
        }
    )


if __name__ == "__main__":
    main()
