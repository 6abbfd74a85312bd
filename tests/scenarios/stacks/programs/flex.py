"""Attention with a mask of blocks (flex_attention), compiled, forwards and backwards."""

import argparse

import torch
from models import report
from torch.nn.attention.flex_attention import create_block_mask, flex_attention

parser = argparse.ArgumentParser()
parser.add_argument("--batch", type=int, default=4)
parser.add_argument("--length", type=int, default=4096)
parser.add_argument("--steps", type=int, default=4)
arguments = parser.parse_args()


def causal(batch, head, query, key):
    return query >= key


mask = create_block_mask(causal, None, None, arguments.length, arguments.length, device="cuda")
attend = torch.compile(flex_attention)
shape = (arguments.batch, 32, arguments.length, 128)
query, key, value = (torch.empty(shape, dtype=torch.bfloat16, device="cuda", requires_grad=True) for _ in range(3))
for _ in range(arguments.steps):
    attend(query, key, value, block_mask=mask).sum().backward()
    query.grad = key.grad = value.grad = None
report()
