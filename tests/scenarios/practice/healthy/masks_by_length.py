"""Masks are kept by their length: there are 48 lengths, and lru_cache has room for 64. Each is made at
the first batch that needs it, the last of them late in the run."""

import functools
import random

import torch
from torch import nn

random.seed(9)


@functools.lru_cache(maxsize=64)
def mask(length: int) -> torch.Tensor:
    return torch.full((16, length, length), float("-inf"), device="cuda").triu(1)


@torch.no_grad()
def main() -> None:
    attention = nn.MultiheadAttention(256, 4, batch_first=True).cuda().eval()
    for _ in range(300):
        length = 16 * min(random.randrange(1, 49), random.randrange(1, 49))
        inputs = torch.randn(4, length, 256, device="cuda")
        attention(inputs, inputs, inputs, attn_mask=mask(length), need_weights=False)
    print(mask.cache_info())


main()
