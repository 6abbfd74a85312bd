"""Runs one workload under one setting, and writes what PyTorch's allocator did:

    record.py WORKLOAD SETTING OUT      writes OUT.pickle and OUT.json

The pickle is PyTorch's own snapshot, with the history of every allocator event since
the first. The JSON says what the history must add up to; README.md explains it.
"""

import json
import os
import pickle
import random
import sys

SETTINGS = {
    "native": "",
    "max_split": "max_split_size_mb:64",
    "roundup": "roundup_power2_divisions:4",
    "gc": "garbage_collection_threshold:0.6",
    "expandable": "expandable_segments:True",
}

# Of 4 GiB: little enough that the workload exceeds six tenths of it while it has unsplit
# blocks to spare, and enough that it never fails (out_of_memory excepted).
GC_FRACTIONS = {
    "fixed": 0.17,
    "variable": 0.16,
    "checkpointing": 0.33,
    "adapters": 0.21,
    "mixed_precision": 0.16,
    "convolution": 0.27,
    "streams": 0.33,
    "empty_cache": 0.2,
    "memory_pool": 0.47,
    "out_of_memory": 0.75,
    "copies": 0.22,
}

MAX_ENTRIES = 1_000_000


class Recorder:
    """Samples the allocator's statistics, each at a marker in the history."""

    def __init__(self, torch):
        self.cuda = torch.cuda
        self.markers = 0
        self.samples, self.calls = [], []
        self.failures = 0

    def mark(self) -> int:
        """Leaves a `snapshot` entry in the history: nothing else here leaves one."""
        self.cuda.memory_snapshot(include_traces=False)
        self.markers += 1
        return self.markers - 1

    def figures(self) -> dict:
        stats = self.cuda.memory_stats()
        return {
            "reserved": stats["reserved_bytes.all.current"],
            "allocated": stats["allocated_bytes.all.current"],
            "active": stats["active_bytes.all.current"],
            "retries": stats["num_alloc_retries"],
            "device_free": self.cuda.mem_get_info()[0],
        }

    def step(self) -> None:
        # The autograd thread may still be dropping tensors: a sample counts when nothing
        # moved around its marker.
        for _ in range(100):
            before = self.figures()
            marker = self.mark()
            if self.figures() == before:
                self.samples.append({"event_index": marker} | before)
                return
        raise AssertionError("the allocator does not come to rest")

    def call(self, name: str, function, **details) -> None:
        """Calls what gives memory back, between two markers."""
        begin = self.mark()
        function()
        span = {"event_index": begin, "end_index": self.mark()}
        self.calls.append({"call": name} | details | span)

    def place(self, history: list[dict]) -> None:
        """Puts the place in the history where the number of a marker was."""
        places = [i for i, entry in enumerate(history) if entry["action"] == "snapshot"]
        assert len(places) == self.markers, f"{len(places)} of {self.markers} markers found"
        for item in self.samples + self.calls:
            for key in ("event_index", "end_index"):
                if key in item:
                    item[key] = places[item[key]]


def record(workload: str, setting: str, out: str) -> None:
    os.environ["PYTORCH_ALLOC_CONF"] = SETTINGS[setting]
    import torch  # reads the setting

    import checks
    import workloads

    random.seed(7)
    torch.manual_seed(7)
    torch.cuda.memory._record_memory_history(
        "all",
        context=None,
        stacks="python",
        max_entries=MAX_ENTRIES,
        record_pinned_host_memory=workload == "copies",
    )
    fraction = GC_FRACTIONS[workload] if setting == "gc" else 1.0
    torch.cuda.set_per_process_memory_fraction(fraction)
    recorder = Recorder(torch)
    recorder.step()
    workloads.ALL[workload](recorder)
    recorder.step()

    torch.cuda.memory._dump_snapshot(f"{out}.pickle")
    with open(f"{out}.pickle", "rb") as file:
        snapshot = pickle.load(file)
    history = snapshot["device_traces"][0]
    recorder.place(history)
    run = {
        "workload": workload,
        "setting": setting,
        "conf": SETTINGS[setting],
        "memory_fraction": fraction,
        "total_memory": torch.cuda.get_device_properties(0).total_memory,
        "torch": torch.__version__,
        "events": len(history),
        "failures": recorder.failures,
        "samples": recorder.samples,
        "calls": recorder.calls,
        "reserved_changes": checks.reserved_changes(history),
    }
    with open(f"{out}.json", "w", encoding="utf-8") as file:
        json.dump(run, file)
    print(json.dumps(checks.check(run, snapshot)), flush=True)


if __name__ == "__main__":
    try:
        record(*sys.argv[1:])
    except BaseException:
        import traceback

        traceback.print_exc()
        os._exit(1)
    os._exit(0)  # see `report` in ../torch/models.py
