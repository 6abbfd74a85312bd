"""A memory fraction caps the process though the device has room; the text says so."""

import re

import torch

from models import GIB, MIB, report


def main() -> None:
    _, total = torch.cuda.mem_get_info()
    torch.cuda.set_per_process_memory_fraction(0.25)
    limit = total // 4
    # One block below the limit is granted ...
    held = torch.empty(limit - 256 * MIB, dtype=torch.uint8, device="cuda")
    free, _ = torch.cuda.mem_get_info()
    # ... and what would exceed it is refused, with more than enough free.
    request = 512 * MIB
    assert free > request, f"the device must have room for {request}, has {free}"
    try:
        torch.empty(request, dtype=torch.uint8, device="cuda")
    except torch.OutOfMemoryError as error:
        text = str(error)
    else:
        raise AssertionError(f"{request} bytes beyond a limit of {limit} were granted")

    print(text)
    named = re.search(r"([\d.]+) GiB allowed", text)
    assert named, f"the text must name the limit: {text}"
    assert abs(float(named[1]) - limit / GIB) < 0.02, f"{named[1]} GiB, not {limit / GIB:.2f}"
    assert torch.cuda.memory_stats()["num_ooms"] == 1, "one failure must be counted"
    report(
        {
            "total": total,
            "limit": limit,
            "allocated": held.numel(),
            "free_on_device": free,
            "request": request,
            "allowed_in_text": named[0],
        }
    )


if __name__ == "__main__":
    main()
