"""Two models that do not fit together: one is moved to the GPU, used, and moved back before the other
one comes. Each turn needs the memory of the turn before."""

import torch
from torch import nn


def stack(width: int) -> nn.Module:
    return nn.Sequential(*[nn.Linear(width, width) for _ in range(10)])


@torch.no_grad()
def main() -> None:
    models = [stack(2048), stack(1792)]
    for turn in range(6):
        model = models[turn % 2].to("cuda")
        answer = model(torch.randn(64, model[0].in_features, device="cuda")).cpu()
        model.to("cpu")
        torch.cuda.empty_cache()
    print("last answer", tuple(answer.shape))


main()
