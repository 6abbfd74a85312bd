"""A GPT-style model in bf16, with and without activation checkpointing."""

import time

import torch

from models import GPT, report, train_step

LENGTHS = (128, 384, 64, 256)  # they vary, as in real batches
BATCH = 8


def requested() -> int:
    """What is live, to the byte: `memory_allocated` counts the blocks' spare ends too."""
    return torch.cuda.memory_stats()["requested_bytes.all.current"]


def peak_and_seconds(checkpointing: bool) -> tuple[int, int, float]:
    model = GPT().to("cuda")
    model.checkpointing = checkpointing
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)
    train_step(model, optimizer, BATCH, max(LENGTHS))  # creates the optimizer's state
    torch.cuda.synchronize()
    settled = requested()
    torch.cuda.reset_peak_memory_stats()
    started = time.perf_counter()
    for length in LENGTHS:
        train_step(model, optimizer, BATCH, length)
        torch.cuda.synchronize()
        now = requested()
        assert now == settled, f"live bytes {now} after length {length}, {settled} before"
    seconds = (time.perf_counter() - started) / len(LENGTHS)
    return torch.cuda.max_memory_allocated(), settled, seconds


def main() -> None:
    kept_peak, kept_settled, kept_seconds = peak_and_seconds(checkpointing=False)
    torch.cuda.empty_cache()
    peak, settled, seconds = peak_and_seconds(checkpointing=True)
    assert settled == kept_settled, f"weights and state differ: {settled} and {kept_settled}"
    assert peak < kept_peak, f"checkpointing must lower the peak: {peak} and {kept_peak}"
    report(
        {
            "settled_bytes": settled,
            "peak_allocated": kept_peak,
            "peak_allocated_checkpointing": peak,
            "step_seconds": round(kept_seconds, 4),
            "step_seconds_checkpointing": round(seconds, 4),
        }
    )


if __name__ == "__main__":
    main()
