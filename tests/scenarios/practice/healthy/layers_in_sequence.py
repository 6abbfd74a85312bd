"""Inference through a long nn.Sequential, and its layers are named by the outputs that a hook keeps of
the current image only: within each image memory climbs layer by layer, and falls with the next."""

import torch
from torch import nn


@torch.no_grad()
def main() -> None:
    model = nn.Sequential(*[nn.Conv2d(32, 32, 3, padding=1) for _ in range(24)]).cuda().eval()
    outputs: dict[int, torch.Tensor] = {}
    for index, layer in enumerate(model):
        layer.register_forward_hook(lambda _, __, out, index=index: outputs.update({index: out}))
    for image in range(20):
        outputs.clear()
        model(torch.randn(1, 32, 224, 224, device="cuda"))
    print("layers seen", len(outputs))


main()
