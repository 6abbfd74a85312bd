"""An MLP trained with AdamW: what is allocated no longer grows after step two."""

import torch
from torch import nn

from models import report

STEPS = 5


def main() -> None:
    model = nn.Sequential(nn.Linear(1024, 4096), nn.ReLU(), nn.Linear(4096, 1024)).to("cuda")
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    weights = sum(p.numel() * p.element_size() for p in model.parameters())
    allocated, reserved = [], []
    for _ in range(STEPS):
        inputs = torch.randn(512, 1024).to("cuda")
        loss = model(inputs).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        # The graph and the batch go with their names, so only what lasts is counted.
        del inputs, loss
        allocated.append(torch.cuda.memory_allocated())
        reserved.append(torch.cuda.memory_reserved())

    assert allocated[1] == allocated[-1], f"allocated must not grow after step 2: {allocated}"
    assert reserved[1] == reserved[-1], f"reserved must not grow after step 2: {reserved}"
    # Weights, and the two moments that AdamW keeps of each.
    assert allocated[-1] >= 3 * weights, f"{allocated[-1]} is less than 3 x {weights}"
    peak = torch.cuda.max_memory_allocated()
    # At the peak the gradients are there as well.
    assert peak >= 4 * weights, f"peak {peak} is less than 4 x {weights}"
    stats = torch.cuda.memory_stats()
    assert stats["num_alloc_retries"] == 0, "nothing should have been retried"
    report(
        {
            "weights": weights,
            "allocated": allocated,
            "peak_allocated": peak,
            "peak_reserved": torch.cuda.max_memory_reserved(),
            "allocations": stats["allocation.all.allocated"],
        }
    )


if __name__ == "__main__":
    main()
