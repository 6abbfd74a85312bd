"""Runs one program and compares it with a recording from a real GPU.

compare.py RUN SNAPSHOT: RUN is a name in runs.json. Prints one line of JSON.
The programs are in the modules beside this one; what each was recorded with, and
what is known to differ, is in runs.json.
"""

import importlib
import json
import os
import pickle
import sys
from pathlib import Path

import torch

from recording import Trace, first_difference, in_order

HERE = Path(__file__).parent
WORKSPACE = 8_519_680  # of cuBLAS, on every GPU before Hopper


class Recorder:
    """Given to a program, which says itself when the recording begins and ends."""

    snapshot: dict | None = None

    def start(self) -> None:
        torch.cuda.memory._record_memory_history(max_entries=1_000_000, stacks="python")

    def stop(self) -> None:
        self.snapshot = torch.cuda.memory._snapshot()
        torch.cuda.memory._record_memory_history(enabled=None)


def recorded(run: dict) -> Trace:
    module, function = run["program"].split(".")
    recorder = Recorder()
    getattr(importlib.import_module(module), function)(recorder, **run["arguments"])
    assert recorder.snapshot, f"{run['program']} did not stop the recording"
    return Trace(recorder.snapshot)


def without_repeated_workspaces(ours: list[int], real: list[int]) -> list[int]:
    """PyTorch 2.15 takes a workspace for each product unless it is told to keep one."""
    if os.environ.get("TORCH_CUBLAS_WORKSPACE_CACHE") == "1":
        return ours
    left, kept = real.count(WORKSPACE), []
    for size in ours:
        left -= size == WORKSPACE
        if size != WORKSPACE or left >= 0:
            kept.append(size)
    return kept


def agreement(in_order: bool, allocated: bool, reserved: bool) -> str:
    if in_order and allocated:
        return "bytes" if reserved else "allocations"
    return "differs"


def compare(ours: Trace, real: Trace) -> dict:
    real_sizes = real.sizes()
    sizes = without_repeated_workspaces(ours.sizes(), real_sizes)
    mine, theirs = ours.peaks(), real.peaks()
    return {
        "agreement": agreement(
            sizes == real_sizes,
            mine.allocated == theirs.allocated,
            mine.reserved == theirs.reserved,
        ),
        "allocations_real": len(real_sizes),
        "allocations_ours": len(sizes),
        "allocations_in_order": in_order(sizes, real_sizes),
        # Named, so that nobody takes the one comparison for the other.
        "workspaces_set_aside": len(ours.sizes()) - len(sizes),
        # Stronger: every free and every new segment, too, at the same place.
        "events_equal": ours.steps() == real.steps(),
        "peak_allocated_real": theirs.allocated,
        "peak_allocated_ours": mine.allocated,
        "peak_reserved_real": theirs.reserved,
        "peak_reserved_ours": mine.reserved,
        "first_difference": first_difference(ours, real),
    }


def main() -> None:
    name, snapshot = sys.argv[1:3]
    runs = json.loads((HERE / "runs.json").read_text())
    run = next(run for run in runs if run["name"] == name)
    real = Trace(pickle.loads(Path(snapshot).read_bytes()))
    figures = {"name": name, "torch": torch.__version__.split("+")[0]}
    print(json.dumps(figures | compare(recorded(run), real)), flush=True)
    # At once: PyTorch's autograd thread may abort a process that ends after a backward pass.
    os._exit(0)


if __name__ == "__main__":
    main()
