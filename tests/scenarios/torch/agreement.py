"""Agrees with a real GPU to the byte: agreement.py LENGTH [REAL_SNAPSHOT].

Three forward passes of a model whose allocations were recorded on a real GPU.
The sizes must recur in the same order, and the peaks must be equal.

The recording is of PyTorch 2.6, which allocated the workspace of cuBLAS once.
PyTorch 2.15 does so under TORCH_CUBLAS_WORKSPACE_CACHE=1; otherwise it takes
and returns one at each product, and those are set aside before comparing.
"""

import json
import os
import pickle
import sys
import tempfile
from pathlib import Path

import torch

from language_model import LanguageModel, Shape

BATCH, PASSES = 10, 3
MIB = 1 << 20
WORKSPACE = 8_519_680  # of cuBLAS, on every GPU before Hopper
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


def without_repeated_workspaces(sizes: list[int]) -> list[int]:
    first = sizes.index(WORKSPACE) + 1
    return sizes[:first] + [size for size in sizes[first:] if size != WORKSPACE]


def first_difference(ours: list[int], real: list[int]) -> str:
    for index, (mine, theirs) in enumerate(zip(ours, real)):
        if mine != theirs:
            return f"allocation {index}: {mine} bytes here, {theirs} on the real GPU"
    return f"{len(ours)} allocations here, {len(real)} on the real GPU"


def compare(ours: list[int], path: Path | None) -> str:
    if path is None or not path.exists():
        return f"not compared: {path or 'no snapshot'} is absent"
    real = allocations(pickle.loads(path.read_bytes()))
    assert ours == real, first_difference(ours, real)
    return f"{len(ours)} of {len(real)} allocations in order"


def recorded(length: int) -> dict:
    torch.cuda.memory._record_memory_history(max_entries=1_000_000)
    run(length)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "snapshot.pickle")
        torch.cuda.memory._dump_snapshot(str(path))
        return pickle.loads(path.read_bytes())


def main() -> None:
    length = int(sys.argv[1])
    cached = os.environ.get("TORCH_CUBLAS_WORKSPACE_CACHE") == "1"
    ours = recorded(length)
    sizes = allocations(ours)
    # Named in the figures, so that nobody takes the one comparison for the other.
    kept = sizes if cached else without_repeated_workspaces(sizes)
    figures = {
        "length": length,
        "compared": compare(kept, Path(sys.argv[2]) if len(sys.argv) > 2 else None),
        "workspace_cache": cached,
        "workspaces_set_aside": len(sizes) - len(kept),
        "peak_allocated": peak(ours, "alloc", "free_completed"),
        "peak_reserved": peak(ours, "segment_alloc", "segment_free"),
        # The counter takes in the unused ends of blocks that were not split.
        "peak_of_blocks": torch.cuda.max_memory_allocated(),
    }
    allocated, reserved = MEASURED[length]
    here = figures["peak_allocated"]
    assert here == allocated, f"peak allocated: {here} here, {allocated} on the real GPU"
    # Where the workspace comes and goes, it also takes other places in the cache.
    here = figures["peak_reserved"]
    assert here == reserved or not cached, f"peak reserved: {here} here, {reserved} there"
    assert figures["peak_of_blocks"] >= allocated, f"the counters disagree: {figures}"
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
