"""What the loops that leak share: a small model, batches from the host, a step."""

import time

import torch
import torch.nn.functional as F
from torch import nn

WIDTH, CLASSES, BATCH = 512, 64, 256


def model() -> nn.Module:
    layers = [nn.Linear(WIDTH, WIDTH), nn.ReLU(), nn.Linear(WIDTH, WIDTH), nn.ReLU()]
    return nn.Sequential(*layers, nn.Linear(WIDTH, CLASSES)).to("cuda")


def batch() -> tuple[torch.Tensor, torch.Tensor]:
    """From the host: a random kernel on the simulated device fills in nothing."""
    inputs, targets = torch.randn(BATCH, WIDTH), torch.randint(CLASSES, (BATCH,))
    return inputs.to("cuda"), targets.to("cuda")


def loss_of(outputs: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    return F.cross_entropy(outputs, targets)


def settle() -> None:
    """Lets the autograd thread drop what it kept: an interpreter that ends first aborts (Python 3.11)."""
    torch.cuda.synchronize()
    time.sleep(0.3)
