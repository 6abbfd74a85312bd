"""A training step with too large a batch. True: the working set; a smaller batch fits."""

import torch

from models import GPT, report, train_step

LENGTH, TOO_LARGE = 256, 512


def fits(model: GPT, optimizer, batch: int) -> bool:
    try:
        train_step(model, optimizer, batch, LENGTH)
    except torch.OutOfMemoryError:
        return False
    finally:
        optimizer.zero_grad(set_to_none=True)
    return True


def largest_batch(model: GPT, optimizer) -> int:
    low, high = 1, TOO_LARGE  # low fits, high does not
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(model, optimizer, middle) else (low, middle)
    return low


def main() -> None:
    model = GPT().to("cuda")
    optimizer = torch.optim.AdamW(model.parameters())
    assert fits(model, optimizer, 1), "even a batch of one does not fit"
    settled = torch.cuda.memory_allocated()
    assert not fits(model, optimizer, TOO_LARGE), f"a batch of {TOO_LARGE} was to be too large"
    left = torch.cuda.memory_allocated()
    assert left == settled, f"the failed step left {left - settled} bytes"
    # All that was reserved was live or nearly so: not a question of waste.
    peak, reserved = torch.cuda.max_memory_allocated(), torch.cuda.max_memory_reserved()
    assert peak > 0.8 * reserved, f"only {peak} of {reserved} bytes were live at the peak"

    batch = largest_batch(model, optimizer)
    torch.cuda.empty_cache()
    assert fits(model, optimizer, batch), f"a batch of {batch} fitted, and then did not"
    report(
        {
            "cause": "working-set",
            "batch_too_large": TOO_LARGE,
            "batch_that_fits": batch,
            "weights_and_state": settled,
            "peak_allocated_at_failure": peak,
            "peak_reserved_at_failure": reserved,
            "num_ooms": torch.cuda.memory_stats()["num_ooms"],
        }
    )


if __name__ == "__main__":
    main()
