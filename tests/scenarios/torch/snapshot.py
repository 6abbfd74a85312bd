"""A recorded history is written, and PyTorch's own viewer reads it: snapshot.py FILE."""

import pickle
import sys
from collections import Counter
from pathlib import Path

import torch
from torch.cuda import _memory_viz as viewer

from models import GPT, report, train_step


def record(path: Path) -> None:
    torch.cuda.memory._record_memory_history(max_entries=100_000)
    model = GPT(layers=2).to("cuda")
    optimizer = torch.optim.AdamW(model.parameters())
    for length in (64, 128, 96):
        train_step(model, optimizer, batch=4, length=length)
    torch.cuda.memory._dump_snapshot(str(path))
    torch.cuda.memory._record_memory_history(enabled=None)


def main() -> None:
    path = Path(sys.argv[1])
    record(path)
    snapshot = pickle.loads(path.read_bytes())
    reserved = sum(s["total_size"] for s in snapshot["segments"])
    assert reserved == torch.cuda.memory_reserved(), f"segments hold {reserved} bytes"
    events = Counter(event["action"] for event in snapshot["device_traces"][0])
    assert events["alloc"] > 100, f"too few events were recorded: {events}"
    assert events["alloc"] >= events["free_completed"] > 0, f"events: {events}"
    named = [f["name"] for e in snapshot["device_traces"][0] for f in e["frames"]]
    assert "train_step" in named, "no event has the Python function that caused it"

    pages = {
        "trace": viewer.trace_plot(snapshot),
        "segments": viewer.segment_plot(snapshot),
    }
    for name, page in pages.items():
        assert "<script" in page and len(page) > 1000, f"{name} plot is no page: {page[:200]}"
    summary = viewer.segsum(snapshot)
    assert summary.startswith("Summary of segments"), f"summary: {summary[:200]}"
    report(
        {
            "file_bytes": path.stat().st_size,
            "events": events,
            "segments": len(snapshot["segments"]),
            "reserved": reserved,
            "page_bytes": {name: len(page) for name, page in pages.items()},
        }
    )


if __name__ == "__main__":
    main()
