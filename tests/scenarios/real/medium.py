"""The programs behind lm-medium and lm-steady-b: one pass or step, after five to warm up.

Written anew from the published traces, with the order and the lifetimes of theirs
(see small.py). The recording begins after the warm-up.
"""

import math
from dataclasses import dataclass

import torch
from torch import nn

VOCABULARY, WARM_UP = 10_000, 5


@dataclass(frozen=True)
class Shape:
    width: int = 1024
    layers: int = 24
    heads: int = 16
    hidden: int = 4096
    batch: int = 4
    context: int = 256


class Linear(nn.Module):
    def __init__(self, inputs: int, outputs: int):
        super().__init__()
        # Made on the device at once: a model that is moved there allocates the same.
        self.weight = nn.Parameter(torch.empty(outputs, inputs, device="cuda"))

    def forward(self, x):
        return torch.einsum("...i,oi->...o", x, self.weight)


class RMSNorm(nn.Module):
    def __init__(self, width: int):
        super().__init__()
        self.gain = nn.Parameter(torch.ones(width, device="cuda"))

    def forward(self, x):
        given = x.dtype
        x = x.to(torch.float32)
        scale = torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-5)
        x = x * scale
        return (self.gain * x).to(given)


class Rotary:
    def __init__(self, context: int, width: int):
        rates = 10_000.0 ** (-torch.arange(0, width, 2) / width)
        angles = torch.outer(torch.arange(context), rates)
        self.table = torch.stack((angles.cos(), angles.sin())).to("cuda")

    def __call__(self, x):
        pairs = x.unflatten(-1, (-1, 2)).permute(4, 0, 1, 2, 3)
        x1, x2 = pairs.unbind(0)
        cos, sin = self.table[:, : x.size(-2), :].unbind(0)
        first = cos * x1 - sin * x2
        second = sin * x1 + cos * x2
        result = torch.concat((first, second), dim=-1)
        return result


def softmax(x):
    rescaled = x - torch.max(x, dim=-1, keepdim=True)[0]
    exponents = torch.exp(rescaled)
    return exponents / torch.sum(exponents, dim=-1, keepdim=True)


def attend(q, k, v, mask):
    scores = torch.einsum("...qd,...kd->...qk", q, k) / math.sqrt(k.shape[-1])
    scores = torch.where(mask, scores, float("-inf"))
    weights = softmax(scores)
    return torch.einsum("...qk,...kd->...qd", weights, v)


class Attention(nn.Module):
    def __init__(self, shape: Shape, rotary: Rotary):
        super().__init__()
        self.heads = shape.heads
        width = shape.width
        self.q, self.k, self.v, self.out = (Linear(width, width) for _ in range(4))
        self.rotary = rotary

    def forward(self, x):
        q, k, v = self.q(x), self.k(x), self.v(x)
        q, k, v = (each.unflatten(-1, (self.heads, -1)).transpose(1, 2) for each in (q, k, v))
        q = self.rotary(q)
        k = self.rotary(k)
        iota = torch.arange(x.shape[-2], device=x.device)
        mask = iota[:, None] >= iota[None, :]
        mask = mask[None]
        heads = attend(q, k, v, mask)
        heads = heads.transpose(1, 2).flatten(-2).contiguous()
        output = self.out(heads)
        return output


class FeedForward(nn.Module):
    def __init__(self, width: int, hidden: int):
        super().__init__()
        self.gate, self.down = Linear(width, hidden), Linear(hidden, width)
        self.up = Linear(width, hidden)

    def forward(self, x):
        return self.down(silu(self.gate(x)) * self.up(x))


def silu(x):
    return x * torch.sigmoid(x)


class Block(nn.Module):
    def __init__(self, shape: Shape, rotary: Rotary):
        super().__init__()
        self.attention = Attention(shape, rotary)
        self.feed_forward = FeedForward(shape.width, shape.hidden)
        self.norm1, self.norm2 = RMSNorm(shape.width), RMSNorm(shape.width)

    def forward(self, x):
        attended = self.attention(self.norm1(x))
        middle = x + attended
        changed = self.feed_forward(self.norm2(middle))
        result = middle + changed
        return result


class LanguageModel(nn.Module):
    def __init__(self, shape: Shape):
        super().__init__()
        self.embedding = nn.Parameter(torch.empty(VOCABULARY, shape.width, device="cuda"))
        rotary = Rotary(shape.context, shape.width // shape.heads)
        self.blocks = nn.ModuleList(Block(shape, rotary) for _ in range(shape.layers))
        self.norm = RMSNorm(shape.width)
        self.head = Linear(shape.width, VOCABULARY)

    def forward(self, x):
        # Two names: the embedded tokens live until the end.
        embedded = self.embedding[x, :]
        x = embedded
        for block in self.blocks:
            x = block(x)
        x = self.norm(x)
        logits = self.head(x)
        return logits


def log_softmax(x):
    largest = torch.max(x, dim=-1, keepdim=True)[0]
    x = x - largest
    return x - torch.log(torch.sum(torch.exp(x), dim=-1, keepdim=True))


def cross_entropy(x, targets):
    negative = -log_softmax(x)
    return torch.mean(torch.gather(negative, -1, targets.unsqueeze(-1)))


class AdamW(torch.optim.Optimizer):
    """By hand and out of place: every step makes new moments."""

    def __init__(self, parameters, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, decay=0.01):
        super().__init__(parameters, {"lr": lr, "betas": betas, "eps": eps, "decay": decay})

    def step(self):
        for group in self.param_groups:
            lr, (beta1, beta2) = group["lr"], group["betas"]
            for p in group["params"]:
                gradient = p.grad.data
                state = self.state[p]
                t = state.get("t", 1)
                rate = lr * (math.sqrt(1 - beta2**t) / (1 - beta1**t))
                p.data -= lr * group["decay"] * p.data
                # The zeros are made whether or not there is a state to be had.
                old_m = state.get("m", torch.zeros_like(gradient))
                old_v = state.get("v", torch.zeros_like(gradient))
                m = beta1 * old_m + ((1 - beta1) * gradient)
                v = beta2 * old_v + ((1 - beta2) * torch.square(gradient))
                p.data -= rate * m / (torch.sqrt(v) + group["eps"])
                state["m"] = m
                state["v"] = v
                state["t"] = t + 1


def random_tokens(steps: int, shape: Shape):
    return torch.randint(0, VOCABULARY, (steps, shape.batch, shape.context), device="cuda")


def autocast(enabled: bool):
    return torch.autocast("cuda", dtype=torch.bfloat16, enabled=enabled)


def inference(record, context: int, mixed: bool = False) -> None:
    shape = Shape(context=context)
    model = LanguageModel(shape)
    warm_up, tokens = random_tokens(WARM_UP, shape), random_tokens(1, shape)
    with torch.inference_mode():
        for step in range(WARM_UP):
            with autocast(mixed):
                model(warm_up[step])
        record.start()
        with autocast(mixed):
            model(tokens[0])
    record.stop()


def training(record, context: int, mixed: bool = False) -> None:
    shape = Shape(context=context)
    model = LanguageModel(shape)
    optimizer = AdamW(model.parameters())
    warm_up, tokens = random_tokens(WARM_UP, shape), random_tokens(1, shape)
    warm_up_targets, targets = random_tokens(WARM_UP, shape), random_tokens(1, shape)
    for step in range(WARM_UP):
        with autocast(mixed):
            output = model(warm_up[step])
            loss = cross_entropy(output, warm_up_targets[step])
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    del output, loss
    record.start()
    with autocast(mixed):
        output = model(tokens[0])
        loss = cross_entropy(output, targets[0])
    loss.backward()
    optimizer.step()
    record.stop()


def gradients(record) -> None:
    """Without an optimizer, and nothing sets the gradients to zero: they add up."""
    shape = Shape(width=768, layers=12, heads=12, hidden=3072, batch=32)
    model = LanguageModel(shape)
    tokens, targets = (
        torch.randint(0, VOCABULARY, (shape.batch, shape.context)).to("cuda") for _ in range(2)
    )
    for step in range(WARM_UP + 1):
        if step == WARM_UP:
            record.start()
        output = model(tokens)
        loss = cross_entropy(output, targets)
        loss.backward()
    record.stop()
