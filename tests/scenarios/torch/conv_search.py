"""Searching for the fastest convolution takes more memory than using it; too little is survived."""

import torch
from torch import nn

from models import MIB, report

SHAPE = (32, 64, 56, 56)


def peak(module: nn.Conv2d, images: torch.Tensor) -> int:
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    with torch.no_grad():
        module(images)
    return torch.cuda.max_memory_allocated() - before


def main() -> None:
    module = nn.Conv2d(64, 64, 3, padding=1).to("cuda")
    images = torch.randn(SHAPE).to("cuda")
    usual = peak(module, images)
    # Another shape, since the engine for the first is known by now.
    torch.backends.cudnn.benchmark = True
    longer = torch.randn(*SHAPE[:3], SHAPE[3] + 1).to("cuda")
    searching, found = peak(module, longer), peak(module, longer)
    assert searching > found, f"the search took {searching} bytes, what it found {found}"
    assert abs(found - usual * 57 / 56) < MIB, f"{found} bytes after the search, {usual} without"
    torch.backends.cudnn.benchmark = False

    # Room for the response (25 MiB) and not for the copies that the first engine wants.
    shorter = torch.randn(*SHAPE[:3], SHAPE[3] - 1).to("cuda")
    torch.cuda.empty_cache()
    total = torch.cuda.get_device_properties(0).total_memory
    room = torch.cuda.memory_reserved() + 40 * MIB
    torch.cuda.set_per_process_memory_fraction(room / total)
    tight = peak(module, shorter)
    assert tight < 40 * MIB, f"{tight} bytes in a room of 40 MiB"
    report({"usual": usual, "searching": searching, "found": found, "tight": tight})


if __name__ == "__main__":
    main()
