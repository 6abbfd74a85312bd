"""Convolutions and batch norm through cuDNN, trained at two batch sizes."""

import torch
from torch import nn

from models import report


def network() -> nn.Sequential:
    return nn.Sequential(
        nn.Conv2d(3, 32, 3, padding=1),
        nn.BatchNorm2d(32),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(32, 64, 3, padding=1),
        nn.BatchNorm2d(64),
        nn.ReLU(),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(64, 10),
    )


def step(model, optimizer, batch: int) -> int:
    """The most that one training step held beyond what was there before."""
    before = torch.cuda.memory_allocated()
    torch.cuda.reset_peak_memory_stats()
    images = torch.randn(batch, 3, 64, 64).to("cuda")
    logits = model(images)
    assert logits.shape == (batch, 10), f"logits have shape {tuple(logits.shape)}"
    logits.sum().backward()
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
    return torch.cuda.max_memory_allocated() - before


def main() -> None:
    model = network().to("cuda")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    step(model, optimizer, 2)  # the momentum and the workspaces are created here
    settled = torch.cuda.memory_allocated()
    small, large = step(model, optimizer, 16), step(model, optimizer, 32)
    after = torch.cuda.memory_allocated()
    assert after == settled, f"{after - settled} bytes more than before the two steps"
    # One image of the first layer's output is 32 x 64 x 64 floats, and is kept.
    assert small > 16 * 32 * 64 * 64 * 4, f"a batch of 16 took only {small} bytes"
    assert 1.7 < large / small <= 2, f"twice the batch took {large / small:.2f} times the bytes"
    report(
        {
            "settled": settled,
            "bytes_batch_16": small,
            "bytes_batch_32": large,
            "peak_reserved": torch.cuda.max_memory_reserved(),
        }
    )


if __name__ == "__main__":
    main()
