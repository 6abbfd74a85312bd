"""Workloads that train a model, and what the others need of it.

Each takes a `Recorder` (record.py): `step()` samples PyTorch's own statistics,
`call(name, function)` marks a call that asks the allocator to give memory back.
Kernels compute nothing on the simulated GPU, so whatever decides a shape is drawn
on the host, from a fixed seed.
"""

import random
import sys
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import nn

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "torch"))
from models import GPT, MIB, train_step  # noqa: E402

# The lab has no cuDNN.
torch.backends.cudnn.enabled = False

VOCABULARY = 8192  # 8 x 256 tokens' logits are 64 MiB in float32


def language_model(layers=3):
    model = GPT(vocabulary=VOCABULARY, layers=layers).to("cuda")
    # The gradient of an embedding of more than 3,072 tokens needs a kernel that the lab refuses
    # ("invalid device function").
    model.tokens.requires_grad_(False)
    return model, torch.optim.AdamW(p for p in model.parameters() if p.requires_grad)


def tokens(batch: int, length: int):
    return torch.randint(VOCABULARY, (batch, length)).to("cuda")


def full_precision_step(model, optimizer, batch: int, length: int) -> None:
    batch_tokens = tokens(batch, length + 1)
    logits = model(batch_tokens[:, :-1])
    F.cross_entropy(logits.flatten(0, 1), batch_tokens[:, 1:].flatten()).backward()
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)


def bytes_on_device(mib: float):
    return torch.empty(int(mib * MIB), dtype=torch.uint8, device="cuda")


def fixed(recorder) -> None:
    """Training at one size, with an evaluation at a larger one in between."""
    model, optimizer = language_model()
    for number in range(6):
        full_precision_step(model, optimizer, 8, 256)
        recorder.step()
        if number % 2:
            with torch.no_grad():
                model(tokens(16, 320))
            recorder.step()


def variable(recorder) -> None:
    """Every batch has another length."""
    model, optimizer = language_model()
    for _ in range(9):
        full_precision_step(model, optimizer, random.choice([4, 6, 8]), random.randint(64, 480))
        recorder.step()


def checkpointing(recorder) -> None:
    """Activations are dropped and computed again in the backward pass."""
    model, optimizer = language_model(layers=4)
    model.checkpointing = True
    for _ in range(6):
        full_precision_step(model, optimizer, 8, random.randint(128, 480))
        recorder.step()


class Adapter(nn.Module):
    """A frozen linear layer with a trained product of two thin matrices beside it."""

    def __init__(self, base: nn.Linear, rank: int):
        super().__init__()
        self.base = base.requires_grad_(False)
        self.down = nn.Linear(base.in_features, rank, bias=False, device="cuda")
        self.up = nn.Linear(rank, base.out_features, bias=False, device="cuda")

    def forward(self, x):
        return self.base(x) + self.up(self.down(x))


def adapters(recorder) -> None:
    """A frozen base in half precision; only the adapters have gradients and state."""
    model, _ = language_model()
    model.requires_grad_(False)
    for block in model.blocks:
        for name in ("qkv", "out", "up", "down"):
            setattr(block, name, Adapter(getattr(block, name), rank=8))
    trained = [p for p in model.parameters() if p.requires_grad]
    optimizer = torch.optim.AdamW(trained)
    for _ in range(6):
        train_step(model, optimizer, 8, random.randint(128, 480))
        recorder.step()


def mixed_precision(recorder) -> None:
    """float16 with a gradient scaler, gradients of two batches added up."""
    model, optimizer = language_model()
    scaler = torch.amp.GradScaler("cuda")
    for number in range(8):
        batch = tokens(8, random.choice([192, 256, 384]) + 1)
        with torch.autocast("cuda", dtype=torch.float16):
            logits = model(batch[:, :-1])
            loss = F.cross_entropy(logits.flatten(0, 1), batch[:, 1:].flatten())
        scaler.scale(loss).backward()
        del logits, loss
        if number % 2:
            scaler.unscale_(optimizer)
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad(set_to_none=True)
        recorder.step()


def convolution(recorder) -> None:
    """Images of several sizes; without cuDNN each is unfolded into columns."""
    layers = []
    for before, after in ((3, 32), (32, 64), (64, 128)):
        layers += [nn.Conv2d(before, after, 3, padding=1), nn.BatchNorm2d(after), nn.ReLU()]
        layers += [nn.MaxPool2d(2)]
    model = nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(128, 10))
    model = model.to("cuda")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    for side in (128, 96, 160, 128, 192, 112, 160, 200):
        images = torch.randn(16, 3, side, side).to("cuda")
        model(images).sum().backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        recorder.step()
