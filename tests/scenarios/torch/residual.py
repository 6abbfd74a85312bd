"""A residual network in bf16, channels first and last; tensor cores copy what has them first."""

import torch
import torch.nn.functional as F
from torch import nn

from models import report

BATCH, SIDE = 16, 64


class Residual(nn.Module):
    def __init__(self, before: int, after: int, stride: int):
        super().__init__()
        self.first = nn.Conv2d(before, after, 3, stride, padding=1, bias=False)
        self.second = nn.Conv2d(after, after, 3, padding=1, bias=False)
        self.shortcut = nn.Conv2d(before, after, 1, stride, bias=False)
        self.norm1, self.norm2 = nn.BatchNorm2d(after), nn.BatchNorm2d(after)

    def forward(self, x):
        inner = F.relu(self.norm1(self.first(x)))
        return F.relu(self.norm2(self.second(inner)) + self.shortcut(x))


def network() -> nn.Sequential:
    # The last block is as large as the others: the peak is where the backward pass begins.
    blocks = [Residual(*widths) for widths in ((64, 64, 1), (64, 128, 1), (128, 128, 1))]
    stem = nn.Conv2d(3, 64, 7, stride=2, padding=3, bias=False)
    head = (nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(128, 10))
    return nn.Sequential(stem, nn.BatchNorm2d(64), nn.ReLU(), *blocks, *head)


def peak(layout: torch.memory_format) -> int:
    """The most that a training step adds once everything has been created."""
    model = network().to("cuda", memory_format=layout)
    optimizer = torch.optim.AdamW(model.parameters())
    for number in range(4):
        before = torch.cuda.memory_allocated()
        torch.cuda.reset_peak_memory_stats()
        images = torch.randn(BATCH, 3, SIDE, SIDE).to("cuda", memory_format=layout)
        with torch.autocast("cuda", dtype=torch.bfloat16):
            loss = model(images).float().sum()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        del images, loss
        left = torch.cuda.memory_allocated() - before
        assert number == 0 or left == 0, f"step {number} leaves {left} bytes behind"
    return torch.cuda.max_memory_allocated() - before


def copies(layout: torch.memory_format) -> int:
    """What a single convolution takes beyond its response."""
    module = nn.Conv2d(64, 64, 3, padding=1, bias=False).to("cuda", torch.bfloat16)
    module = module.to(memory_format=layout)
    images = torch.randn(BATCH, 64, SIDE, SIDE).to("cuda", torch.bfloat16, memory_format=layout)
    before = torch.cuda.memory_allocated()
    torch.cuda.reset_peak_memory_stats()
    with torch.no_grad():
        responses = module(images)
    return torch.cuda.max_memory_allocated() - before - responses.nbytes


def main() -> None:
    assert torch.backends.cudnn.is_available() and torch.backends.cudnn.enabled, "no cuDNN"
    image = BATCH * 64 * SIDE * SIDE * 2
    copied, spared = copies(torch.contiguous_format), copies(torch.channels_last)
    assert copied >= 2 * image, f"channels first: {copied} bytes for copies of {image} each"
    assert spared < image, f"channels last: {spared} bytes for copies of {image} each"
    first, last = peak(torch.contiguous_format), peak(torch.channels_last)
    assert 0.8 < last / first < 1.2, f"channels last took {last} bytes, channels first {first}"
    version = torch.backends.cudnn.version()
    sizes = {"channels_first": first, "channels_last": last, "copies": copied}
    report({"version": version} | sizes)


if __name__ == "__main__":
    main()
