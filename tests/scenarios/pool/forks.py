"""A process that forks while it holds memory of the device. The child frees what is its parent's, asks
for more, and ends; the parent's memory is what it was.

    forks.py
"""

import gc
import os
import signal
import sys
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "torch"))
from models import MIB, report  # noqa: E402

SECONDS = 20  # a child that hangs is ended, and found out


def child(held: list[torch.Tensor]) -> int:
    signal.alarm(SECONDS)
    held.clear()
    gc.collect()
    try:
        torch.empty(MIB, device="cuda")
    except RuntimeError as error:
        return 0 if "fork" in str(error) else 4
    return 5


def main() -> None:
    held = [torch.arange(MIB, dtype=torch.int32).to("cuda") for _ in range(6)]
    held += [torch.arange(300, dtype=torch.int32).to("cuda") for _ in range(6)]
    copies = [tensor.cpu() for tensor in held]
    before = torch.cuda.memory_allocated(), torch.cuda.memory_reserved()
    statuses = []
    for _ in range(3):
        number = os.fork()
        if number == 0:
            os._exit(child(held))
        statuses.append(os.waitstatus_to_exitcode(os.waitpid(number, 0)[1]))
    assert (torch.cuda.memory_allocated(), torch.cuda.memory_reserved()) == before
    # What the children freed is not given out again.
    more = [torch.zeros(MIB, dtype=torch.int32).to("cuda") for _ in range(6)]
    assert not {t.data_ptr() for t in more} & {t.data_ptr() for t in held}
    assert all(torch.equal(a, b.cpu()) for a, b in zip(copies, held)), "the contents differ"
    report({"children": statuses, "allocated": before[0], "reserved_before": before[1]})


if __name__ == "__main__":
    main()
