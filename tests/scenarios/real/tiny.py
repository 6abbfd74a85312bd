"""The programs behind lm-tiny: one attention by itself, and passes of a 12-layer model.

Written anew from the published traces, with the order and the lifetimes of theirs
(see small.py).
"""

from contextlib import nullcontext

import torch
from torch import nn

VOCABULARY, WIDTH, LAYERS, HEADS, HIDDEN = 10_000, 768, 12, 12, 3072
BATCH, WARM_UP = 4, 15


def softmax(x):
    largest = x.max(dim=-1, keepdim=True).values
    numerator = torch.exp(x - largest)
    denominator = torch.sum(numerator, dim=-1, keepdim=True)
    return numerator / denominator


def attend(q, k, v, mask=None):
    scores = torch.einsum("...qd,...kd->...qk", q, k)
    scores = scores / (q.shape[-1] ** 0.5)
    if mask is not None:
        scores = scores.masked_fill(mask == False, -1e9)  # noqa: E712: it allocates
    weights = softmax(scores)
    return torch.einsum("...qk,...kd->...qd", weights, v)


def attention(record, batch: int = 8, length: int = 4096, width: int = 16) -> None:
    record.start()
    q, k, v = (torch.randn(batch, length, width, device="cuda", requires_grad=True) for _ in range(3))
    output = attend(q, k, v)
    loss = output.sum()
    loss.backward()
    record.stop()


class Linear(nn.Module):
    def __init__(self, inputs: int, outputs: int):
        super().__init__()
        # Made on the device at once: a model that is moved there allocates the same.
        self.weight = nn.Parameter(torch.empty(outputs, inputs, device="cuda"))

    def forward(self, x):
        result = torch.einsum("...i,oi->...o", x, self.weight)
        return result


class RMSNorm(nn.Module):
    def __init__(self):
        super().__init__()
        self.gain = nn.Parameter(torch.empty(1, WIDTH, device="cuda"))

    def forward(self, x):
        given = x.dtype
        x = x.to(torch.float32)
        square = torch.einsum("...d,...d->...", x, x)
        square = square / WIDTH + 1e-5
        scale = torch.sqrt(square).unsqueeze(-1)
        result = x / scale * self.gain
        return result.to(given)


class Rotary:
    def __init__(self, length: int, width: int):
        self.cosines = torch.zeros(length, width).to("cuda")
        self.sines = torch.zeros(length, width).to("cuda")

    def half_turn(self, x):
        x1, x2 = x.view(*x.shape[:-1], -1, 2).unbind(dim=-1)
        turned = torch.stack((-x2, x1), dim=-1)
        return turned.view(*x.shape)

    def __call__(self, x, positions):
        cos = self.cosines[positions]
        sin = self.sines[positions]
        return (x * cos) + (self.half_turn(x) * sin)


class Attention(nn.Module):
    def __init__(self, length: int):
        super().__init__()
        self.k, self.q, self.v, self.out = (Linear(WIDTH, WIDTH) for _ in range(4))
        self.rotary = Rotary(length, WIDTH // HEADS)

    def split(self, x):
        return x.unflatten(-1, (HEADS, -1)).transpose(1, 2)

    def forward(self, x, positions):
        k = self.split(self.k(x))
        q = self.split(self.q(x))
        v = self.split(self.v(x))
        k = self.rotary(k, positions)
        q = self.rotary(q, positions)
        mask = torch.tril(torch.ones(x.shape[1], x.shape[1], device=x.device)).bool()
        heads = attend(q, k, v, mask)
        merged = heads.transpose(1, 2).flatten(-2)
        return self.out(merged)


class FeedForward(nn.Module):
    def __init__(self):
        super().__init__()
        shapes = (HIDDEN, WIDTH), (WIDTH, HIDDEN), (HIDDEN, WIDTH)
        empty = (nn.Parameter(torch.empty(shape, device="cuda")) for shape in shapes)
        self.gate, self.down, self.up = empty

    def forward(self, x):
        given = x.dtype
        x = x.to(torch.float32)
        gate = torch.einsum("fd,...d->f...", self.gate, x)
        up = torch.einsum("fd,...d->f...", self.up, x)
        result = torch.einsum("df,f...->...d", self.down, silu(gate) * up)
        return result.to(given)


def silu(x):
    return x * torch.sigmoid(x)


class Block(nn.Module):
    def __init__(self, length: int):
        super().__init__()
        self.norm1, self.norm2 = RMSNorm(), RMSNorm()
        self.attention = Attention(length)
        self.feed_forward = FeedForward()

    def forward(self, x, positions):
        normed = self.norm1(x)
        attended = self.attention(normed, positions)
        middle = x + attended
        normed_middle = self.norm2(middle)
        changed = self.feed_forward(normed_middle)
        result = middle + changed
        return result


class LanguageModel(nn.Module):
    def __init__(self, length: int):
        super().__init__()
        self.embedding = nn.Parameter(torch.empty(VOCABULARY, WIDTH, device="cuda"))
        self.blocks = nn.ModuleList(Block(length) for _ in range(LAYERS))
        self.norm = RMSNorm()
        self.head = Linear(WIDTH, VOCABULARY)

    def forward(self, tokens):
        x = self.embedding[tokens]
        positions = torch.arange(tokens.shape[1], device=tokens.device)
        for block in self.blocks:
            # Two names: the last block's result lives until the logits are there.
            result = block(x, positions)
            x = result
        x = self.norm(x)
        logits = self.head(x)
        return {"logits": logits}


def forward(record, length: int, mixed: bool = False) -> None:
    model = LanguageModel(length)
    tokens = torch.randint(0, VOCABULARY, (BATCH, length)).to("cuda")
    for step in range(WARM_UP + 1):
        if step == WARM_UP:
            record.start()
        one_pass(model, tokens, mixed)
    record.stop()


def one_pass(model, tokens, mixed: bool) -> None:
    with torch.autocast("cuda", dtype=torch.bfloat16) if mixed else nullcontext():
        with torch.no_grad():
            _logits = model(tokens)["logits"]
