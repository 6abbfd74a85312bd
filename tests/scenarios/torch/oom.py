"""Allocate until it fails, and read the genuine text of the failure."""

import re

import torch

from models import GIB, MIB, report

SIZE = r"[\d.]+ (?:GiB|MiB|KiB|bytes)"
TEXT = re.compile(
    rf"CUDA out of memory\. Tried to allocate 512\.00 MiB\. "
    rf"GPU 0 has a total capacity of ({SIZE}) of which ({SIZE}) is free\. "
    rf"Including non-PyTorch memory, this process has ({SIZE}) memory in use\. "
    rf"Of the allocated memory ({SIZE}) is allocated by PyTorch"
)


def fill(chunk: int) -> tuple[list[torch.Tensor], str]:
    held = []
    try:
        while True:
            held.append(torch.empty(chunk, dtype=torch.uint8, device="cuda"))
    except torch.OutOfMemoryError as error:
        return held, str(error)


def main() -> None:
    chunk = 512 * MIB
    _, total = torch.cuda.mem_get_info()
    held, text = fill(chunk)
    print(text)
    named = TEXT.search(text)
    assert named, f"not the text that PyTorch gives on a GPU: {text}"
    capacity, free, in_use, allocated = named.groups()
    assert capacity == f"{total / GIB:.2f} GiB", f"{capacity}, not {total / GIB:.2f} GiB"
    assert torch.cuda.mem_get_info()[0] < chunk, "it failed though a chunk was free"
    assert torch.cuda.memory_allocated() == len(held) * chunk, "every chunk must be counted"
    stats = torch.cuda.memory_stats()
    assert stats["num_ooms"] == 1, f"one failure happened, {stats['num_ooms']} are counted"
    report(
        {
            "chunks": len(held),
            "total": total,
            "capacity": capacity,
            "free": free,
            "in_use": in_use,
            "allocated": allocated,
            "retries": stats["num_alloc_retries"],
        }
    )


if __name__ == "__main__":
    main()
