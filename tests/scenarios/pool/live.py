"""Runs one of the recorded workloads as it is and says what it took at its peak:

    live.py WORKLOAD

The same program under every allocator: which one it is, the environment decides
(PYTORCH_ALLOC_CONF, or `whyoom run --pool`). Nothing is recorded from inside, so that
nothing but the workload asks for memory.
"""

import random
import sys
from pathlib import Path

import torch

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "workloads"), str(HERE.parent / "torch")]
import workloads  # noqa: E402
from models import report  # noqa: E402


class Onlooker:
    """What record.py hands a workload, without the recording."""

    def __init__(self):
        self.failures = 0

    def step(self) -> None:
        """A step has ended."""

    def call(self, _name: str, function, **_details) -> None:
        function()


def main(workload: str) -> None:
    random.seed(7)
    torch.manual_seed(7)
    torch.cuda.init()
    # What an allocator can have at all; libraries take a little of it later.
    capacity = torch.cuda.mem_get_info()[0]
    onlooker = Onlooker()
    workloads.ALL[workload](onlooker)
    torch.cuda.synchronize()
    report(
        {
            "workload": workload,
            "backend": torch.cuda.get_allocator_backend(),
            "peak_allocated": torch.cuda.max_memory_allocated(),
            "peak_reserved": torch.cuda.max_memory_reserved(),
            "failures": onlooker.failures,
            "capacity": capacity,
        }
    )


if __name__ == "__main__":
    main(sys.argv[1])
