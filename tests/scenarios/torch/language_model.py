"""A small decoder-only language model whose allocations are known from a real GPU.

Written anew from the published trace of such a model: the order of the
operations, and how long each result is kept in a local name, decide the order
and the lifetime of every allocation. Both are therefore part of the contract
here, and simplifications that PyTorch would compute the same way are not.
"""

from dataclasses import dataclass

import torch
from torch import nn


@dataclass(frozen=True)
class Shape:
    vocabulary: int = 10_000
    context: int = 256
    width: int = 512
    layers: int = 4
    heads: int = 16
    hidden: int = 1344


class Linear(nn.Module):
    def __init__(self, inputs: int, outputs: int):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(outputs, inputs, device="cuda"))

    def forward(self, x):
        # einsum goes through bmm, which allocates otherwise than F.linear.
        return torch.einsum("...i,oi->...o", x, self.weight)


class RMSNorm(nn.Module):
    def __init__(self, width: int, eps: float = 1e-5):
        super().__init__()
        self.eps = eps
        self.gain = nn.Parameter(torch.ones(width, device="cuda"))

    def forward(self, x):
        scale = torch.sqrt((x**2).mean(dim=-1, keepdim=True) + self.eps)
        return x / scale * self.gain


class Rotary:
    """Rotary positions; the tables stay on the host and are copied at each use."""

    def __init__(self, width: int, context: int, theta: float = 10_000.0):
        rates = theta ** (-torch.arange(0, width, 2) / width)
        angles = torch.outer(torch.arange(context), rates)
        self.cosines, self.sines = angles.cos(), angles.sin()

    def __call__(self, x):
        length = x.shape[-2]
        cos = self.cosines[:length].to(x.device)
        sin = self.sines[:length].to(x.device)
        even, odd = x[..., 0::2], x[..., 1::2]
        first = even * cos - odd * sin
        second = even * sin + odd * cos
        return torch.cat((first, second), dim=-1)


def softmax(x):
    largest = x.max(dim=-1, keepdim=True).values
    # The exponential is computed twice on purpose: the real program did.
    return torch.exp(x - largest) / torch.exp(x - largest).sum(dim=-1, keepdim=True)


def attend(q, k, v, mask):
    mask = mask.to(q.device)
    scores = torch.einsum("...qd,...kd->...qk", q, k)
    scaled = scores / torch.sqrt(torch.tensor(q.shape[-1]).to(q.device))
    scaled.masked_fill_(~mask.bool(), float("-inf"))
    weights = softmax(scaled)
    return torch.einsum("...qk,...kd->...qd", weights, v)


class Attention(nn.Module):
    def __init__(self, shape: Shape):
        super().__init__()
        self.heads = shape.heads
        self.q = Linear(shape.width, shape.width)
        self.k = Linear(shape.width, shape.width)
        self.v = Linear(shape.width, shape.width)
        self.out = Linear(shape.width, shape.width)
        self.rotary = Rotary(shape.width // shape.heads, shape.context)

    def split(self, x):
        return x.unflatten(-1, (self.heads, -1)).transpose(1, 2)

    def forward(self, x):
        q, k, v = self.split(self.q(x)), self.split(self.k(x)), self.split(self.v(x))
        q = self.rotary(q)
        k = self.rotary(k)
        length = x.shape[-2]
        heads = attend(q, k, v, torch.tril(torch.ones(length, length)))
        # One name for both, so that the per-head result goes once it is merged.
        heads = heads.transpose(1, 2).reshape(x.shape)
        return self.out(heads)


class FeedForward(nn.Module):
    def __init__(self, shape: Shape):
        super().__init__()
        self.gate = Linear(shape.width, shape.hidden)
        self.down = Linear(shape.hidden, shape.width)
        self.up = Linear(shape.width, shape.hidden)

    def forward(self, x):
        gate = self.gate(x)
        gate = gate * torch.sigmoid(gate)
        return self.down(gate * self.up(x))


class Block(nn.Module):
    def __init__(self, shape: Shape):
        super().__init__()
        self.norm1, self.norm2 = RMSNorm(shape.width), RMSNorm(shape.width)
        self.attention = Attention(shape)
        self.feed_forward = FeedForward(shape)

    def forward(self, x):
        # Named, because both live until the block returns, as in the trace.
        attended = self.attention(self.norm1(x))
        x = x + attended
        changed = self.feed_forward(self.norm2(x))
        return x + changed


class LanguageModel(nn.Module):
    def __init__(self, shape: Shape):
        super().__init__()
        self.embedding = nn.Parameter(torch.empty(shape.vocabulary, shape.width, device="cuda"))
        self.blocks = nn.ModuleList(Block(shape) for _ in range(shape.layers))
        self.norm = RMSNorm(shape.width)
        self.head = Linear(shape.width, shape.vocabulary)

    def forward(self, tokens):
        x = self.embedding[tokens]
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))
