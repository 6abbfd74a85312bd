"""Eight devices of 80 GiB, 70 GiB allocated on each, on a host that has far less."""

import re
from pathlib import Path

import torch

from models import GIB, report

DEVICES, SIZE = 8, 70 * GIB


def resident_bytes() -> int:
    status = Path("/proc/self/status").read_text()
    return int(re.search(r"VmRSS:\s+(\d+) kB", status)[1]) * 1024


def main() -> None:
    assert torch.cuda.device_count() == DEVICES, f"{torch.cuda.device_count()} devices"
    held, free = [], []
    for index in range(DEVICES):
        before, total = torch.cuda.mem_get_info(index)
        assert total >= 79 * GIB, f"device {index} has {total} bytes"
        held.append(torch.empty(SIZE, dtype=torch.uint8, device=f"cuda:{index}"))
        after, _ = torch.cuda.mem_get_info(index)
        assert before - after == SIZE, f"device {index}: free fell by {before - after}"
        assert torch.cuda.memory_allocated(index) == SIZE
        free.append(after)
    # A copy across devices and back, so that the memory is more than a number.
    sent = torch.arange(1000)
    held[0][:8000].copy_(sent.view(torch.uint8))
    held[7][:8000].copy_(held[0][:8000])
    returned = held[7][:8000].cpu().view(torch.int64)
    assert torch.equal(returned, sent), "data copied from device 0 to 7 differs"

    resident = resident_bytes()
    assert resident < 2 * GIB, f"{resident} bytes resident for memory that nobody touched"
    report(
        {
            "devices": DEVICES,
            "allocated": sum(t.numel() for t in held),
            "free": free,
            "resident": resident,
        }
    )


if __name__ == "__main__":
    main()
