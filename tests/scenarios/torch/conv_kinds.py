"""Convolutions of every kind: each keeps its shape, has all gradients, and leaves nothing."""

import torch
from torch import nn

from models import report

KINDS = {
    "one dimension": (nn.Conv1d(16, 32, 5, padding=2), (8, 16, 400), (8, 32, 400)),
    "three dimensions": (nn.Conv3d(8, 16, 3, padding=1), (2, 8, 8, 16, 16), (2, 16, 8, 16, 16)),
    "stride and dilation": (
        nn.Conv2d(16, 32, 3, stride=2, padding=2, dilation=2),
        (4, 16, 32, 32),
        (4, 32, 16, 16),
    ),
    "grouped": (nn.Conv2d(16, 32, 3, padding=1, groups=4), (4, 16, 32, 32), (4, 32, 32, 32)),
    "depthwise": (nn.Conv2d(32, 32, 3, padding=1, groups=32), (4, 32, 32, 32), (4, 32, 32, 32)),
    "pointwise": (nn.Conv2d(16, 64, 1), (4, 16, 32, 32), (4, 64, 32, 32)),
    "transposed": (
        nn.ConvTranspose2d(32, 16, 3, stride=2, padding=1, output_padding=1),
        (4, 32, 16, 16),
        (4, 16, 32, 32),
    ),
    "transposed, three dimensions": (
        nn.ConvTranspose3d(8, 4, 2, stride=2),
        (2, 8, 4, 8, 8),
        (2, 4, 8, 16, 16),
    ),
}


def convolve(name: str, kind: torch.dtype) -> int:
    """The most that a forward and a backward pass held beyond the weights."""
    module, shape, expected = KINDS[name]
    module = module.to("cuda", kind)
    before = torch.cuda.memory_allocated()
    torch.cuda.reset_peak_memory_stats()
    images = torch.randn(shape).to("cuda", kind).requires_grad_()
    responses = module(images)
    assert responses.shape == expected, f"{name}: {tuple(responses.shape)}, not {expected}"
    responses.sum().backward()
    assert images.grad.shape == shape, f"{name}: a gradient of {tuple(images.grad.shape)}"
    assert all(weight.grad is not None for weight in module.parameters()), name
    module.zero_grad(set_to_none=True)
    del images, responses
    left = torch.cuda.memory_allocated() - before
    assert left == 0, f"{name}: {left} bytes are left"
    return torch.cuda.max_memory_allocated() - before


def main() -> None:
    kinds = (torch.float32, torch.float16, torch.bfloat16, torch.float64)
    took = {name: [convolve(name, kind) for kind in kinds] for name in KINDS}
    single, half = took["three dimensions"][:2]
    assert half < single, f"half precision took {half} bytes, single {single}"
    # Without TF32 and without choice, single precision has other engines.
    torch.backends.cudnn.allow_tf32 = False
    plain = convolve("three dimensions", torch.float32)
    assert plain < single, f"{plain} bytes without tensor cores, {single} with copies for them"
    torch.backends.cudnn.deterministic = True
    convolve("three dimensions", torch.float32)
    report({name: sizes[0] for name, sizes in took.items()} | {"without TF32": plain})


if __name__ == "__main__":
    main()
