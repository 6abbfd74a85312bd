"""Each allocator setting is really in force: allocator_settings.py NAME.

The setting itself comes from PYTORCH_ALLOC_CONF, as a user would give it.
"""

import os
import sys

import torch

from models import GPT, MIB, report, train_step

SETTINGS = {
    "native": "",
    "expandable": "expandable_segments:True",
    "max_split": "max_split_size_mb:64",
    "async": "backend:cudaMallocAsync",
}


def reuses_a_large_block() -> bool:
    """Whether 30 MiB are cut from a cached block of 128 MiB."""
    torch.cuda.empty_cache()
    large = torch.empty(128 * MIB, dtype=torch.uint8, device="cuda")
    del large
    before = torch.cuda.memory_reserved()
    small = torch.empty(30 * MIB, dtype=torch.uint8, device="cuda")
    return torch.cuda.memory_reserved() == before and small.numel() > 0


def check_caching(name: str) -> dict:
    snapshot = torch.cuda.memory._snapshot()
    settings = snapshot["allocator_settings"]
    expandable = [s["is_expandable"] for s in snapshot["segments"]]
    assert expandable, "the training left no segment in the snapshot"
    wanted = name == "expandable"
    assert settings["expandable_segments"] == wanted, f"settings in force: {settings}"
    assert all(e == wanted for e in expandable), f"expandable must be {wanted}: {expandable}"
    limit = 64 * MIB if name == "max_split" else -1
    assert settings["max_split_size"] == limit, f"settings in force: {settings}"
    reused = reuses_a_large_block()
    assert reused == (name != "max_split"), f"a block of 128 MiB was split: {reused}"
    return {"segments": len(expandable), "expandable": wanted, "splits_128_mib": reused}


def main() -> None:
    name = sys.argv[1]
    given = os.environ.get("PYTORCH_ALLOC_CONF", "")
    assert given == SETTINGS[name], f"run with PYTORCH_ALLOC_CONF={SETTINGS[name]}, not {given}"
    model = GPT().to("cuda")
    optimizer = torch.optim.AdamW(model.parameters())
    for length in (128, 384, 64):
        train_step(model, optimizer, batch=8, length=length)
    figures = {
        "backend": torch.cuda.memory.get_allocator_backend(),
        "peak_allocated": torch.cuda.max_memory_allocated(),
        "peak_reserved": torch.cuda.max_memory_reserved(),
    }
    wanted = "cudaMallocAsync" if name == "async" else "native"
    assert figures["backend"] == wanted, f"backend is {figures['backend']}, not {wanted}"
    assert 0 < figures["peak_allocated"] <= figures["peak_reserved"], f"peaks: {figures}"
    if name != "async":  # its pool belongs to the driver and has no segments to show
        figures |= check_caching(name)
    report({"setting": given or "none"} | figures)


if __name__ == "__main__":
    main()
