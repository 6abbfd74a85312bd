"""A server whose workers take turns, each with a stream of its own. A turn reads a document in parts,
keeps what it found in one part of ten, and forgets the rest.

    dies.py

Never more than a turn and what is kept are in use, which fits. But what a worker has freed only its
own stream can have: PyTorch's segments, of 20 MiB or more, each have a kept part in them, so that none
can be given back to the device, with expandable segments as without.
"""

import sys
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "torch"))
from models import MIB, report  # noqa: E402

WORKERS = 8
PARTS = 200
PART = 6 * MIB  # in segments of 20 MiB, three at a time
KEPT_OF = 10


def turn(stream: torch.cuda.Stream) -> list[torch.Tensor]:
    """Reads all parts at once, and keeps some of them."""
    with torch.cuda.stream(stream):
        parts = [torch.empty(PART, dtype=torch.uint8, device="cuda") for _ in range(PARTS)]
        found = [part.add_(1) for part in parts[::KEPT_OF]]
        del parts
    stream.synchronize()
    return found


def main() -> None:
    kept = [turn(torch.cuda.Stream()) for _ in range(WORKERS)]
    report(
        {
            "workers": len(kept),
            "peak_allocated": torch.cuda.max_memory_allocated(),
            "peak_reserved": torch.cuda.max_memory_reserved(),
        }
    )


if __name__ == "__main__":
    main()
