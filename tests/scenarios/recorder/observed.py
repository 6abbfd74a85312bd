"""Runs a PyTorch program with PyTorch's own history, and writes what that says at the end.

    observed.py OUT PROGRAM [ARGUMENT ...]

OUT.PID gets, for each process that used CUDA, one JSON object: for each device the history's
entries (action, address, bytes), and what PyTorch says it has allocated and reserved. The program
is unchanged; its end is watched for by the two ways out that the scenarios take.
"""

import atexit
import json
import os
import runpy
import sys

import torch

KEPT = {"alloc", "free_requested", "segment_alloc", "segment_free", "segment_map", "segment_unmap", "oom"}
MOST_ENTRIES = 10_000_000


def write(path: str) -> None:
    if not torch.cuda.is_initialized():
        return
    traces = torch.cuda.memory._snapshot()["device_traces"]
    devices = [
        {
            "entries": [
                (entry["action"], entry.get("addr", 0), entry["size"])
                for entry in trace
                if entry["action"] in KEPT
            ],
            "allocated": torch.cuda.memory_allocated(index),
            "reserved": torch.cuda.memory_reserved(index),
        }
        for index, trace in enumerate(traces)
    ]
    with open(f"{path}.{os.getpid()}", "w", encoding="utf-8") as file:
        json.dump(devices, file)


def main() -> None:
    out, program = sys.argv[1:3]
    del sys.argv[:2]
    sys.path.insert(0, os.path.dirname(program))
    torch.cuda.memory._record_memory_history(
        context=None, stacks="python", max_entries=MOST_ENTRIES
    )
    leave = os._exit

    def watched(status: int) -> None:
        write(out)
        leave(status)

    os._exit = watched
    atexit.register(write, out)
    runpy.run_path(program, run_name="__main__")


if __name__ == "__main__":
    main()
