"""Agrees with a real GPU to the byte: agreement.py LENGTH [REAL_SNAPSHOT].

Three forward passes of a model whose allocations were recorded on a real GPU.
The sizes must recur in the same order, and the peaks must be equal.
"""

import json
import pickle
import sys
import tempfile
from pathlib import Path

import torch

from language_model import LanguageModel, Shape

BATCH, PASSES = 10, 3
MIB = 1 << 20
# length: (peak allocated, peak reserved), measured on the real GPU
MEASURED = {
    100: (412_652_032, 442 * MIB),
    150: (626_950_144, 636 * MIB),
    200: (879_668_224, 902 * MIB),
}


def run(length: int) -> None:
    shape = Shape()
    model = LanguageModel(shape)
    tokens = torch.randint(shape.vocabulary, (BATCH, length)).to("cuda")
    for _ in range(PASSES):
        # The result is not named: nothing of one pass may outlive it.
        model(tokens)


def allocations(snapshot: dict) -> list[int]:
    return [e["size"] for e in snapshot["device_traces"][0] if e["action"] == "alloc"]


def peak(snapshot: dict, grows: str, shrinks: str) -> int:
    """The largest sum of live bytes, in the 512-byte units of the allocator."""
    live = largest = 0
    for event in snapshot["device_traces"][0]:
        rounded = -(-event["size"] // 512) * 512
        live += rounded * ((event["action"] == grows) - (event["action"] == shrinks))
        largest = max(largest, live)
    return largest


def first_difference(ours: list[int], real: list[int]) -> str:
    for index, (mine, theirs) in enumerate(zip(ours, real)):
        if mine != theirs:
            return f"allocation {index}: {mine} bytes here, {theirs} on the real GPU"
    return f"{len(ours)} allocations here, {len(real)} on the real GPU"


def main() -> None:
    length = int(sys.argv[1])
    real_path = Path(sys.argv[2]) if len(sys.argv) > 2 else None
    torch.cuda.memory._record_memory_history(max_entries=1_000_000)
    run(length)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "snapshot.pickle")
        torch.cuda.memory._dump_snapshot(str(path))
        ours = pickle.loads(path.read_bytes())

    figures = {
        "length": length,
        "allocations": len(allocations(ours)),
        "peak_allocated": peak(ours, "alloc", "free_completed"),
        "peak_reserved": peak(ours, "segment_alloc", "segment_free"),
    }
    compared = "not compared: no snapshot given"
    if real_path and not real_path.exists():
        compared = f"not compared: {real_path} is absent"
    elif real_path:
        real = allocations(pickle.loads(real_path.read_bytes()))
        assert allocations(ours) == real, first_difference(allocations(ours), real)
        compared = f"{len(real)} of {len(real)} allocations in order"
    expected = dict(zip(("peak_allocated", "peak_reserved"), MEASURED[length]))
    for name, value in expected.items():
        assert figures[name] == value, f"{name}: {figures[name]} here, {value} on the real GPU"
    assert figures["peak_allocated"] == torch.cuda.max_memory_allocated(), (
        f"the trace says {figures['peak_allocated']}, "
        f"the counters {torch.cuda.max_memory_allocated()}"
    )
    print(json.dumps(figures | {"compared": compared}))


if __name__ == "__main__":
    main()
