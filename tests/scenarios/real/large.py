"""The program behind lm-xl: models of 36 and 48 layers, benchmarked step after step.

Written anew from the published traces, with the order and the lifetimes of theirs
(see small.py). The recording of a step begins before it, and each replaced the one
before, so that the last one stayed.
"""

import math
from contextlib import nullcontext

import torch
from torch import nn

VOCABULARY, BATCH, LENGTH = 10_000, 4, 256
# name: width, hidden, layers, heads
SHAPES = {"large": (1280, 5120, 36, 20), "xl": (1600, 6400, 48, 25)}


def weights(outputs: int, inputs: int):
    # Made on the device at once: a model that is moved there allocates the same.
    return nn.Parameter(torch.empty(outputs, inputs, device="cuda"))


def project(weight, x):
    return torch.einsum("oi,...i->...o", weight, x)


class RMSNorm(nn.Module):
    def __init__(self, width: int):
        super().__init__()
        self.gain = nn.Parameter(torch.ones(width, device="cuda"))

    def forward(self, x):
        square = (x**2).mean(-1, keepdim=True)
        scale = torch.sqrt(square + 1e-5)
        return (x / scale) * self.gain


class Rotary:
    """Made anew, on the device, in every layer of every pass."""

    def __init__(self, width: int, length: int):
        multiples = torch.arange(0, width, 2, device="cuda", dtype=torch.float32)
        exponents = multiples / width
        rates = 1.0 / (10_000 ** exponents)
        positions = torch.arange(length, device="cuda", dtype=torch.float32)
        angles = torch.einsum("p,f->pf", positions, rates)
        self.cosines, self.sines = torch.cos(angles), torch.sin(angles)

    def __call__(self, x, positions):
        cos = self.cosines[positions]
        sin = self.sines[positions]
        x1 = x[..., 0::2]
        x2 = x[..., 1::2]
        cos_of_all = cos.unsqueeze(1)
        sin_of_all = sin.unsqueeze(1)
        first = x1 * cos_of_all - x2 * sin_of_all
        second = x1 * sin_of_all + x2 * cos_of_all
        turned = torch.empty_like(x)
        turned[..., 0::2] = first
        turned[..., 1::2] = second
        return turned


def softmax(x):
    largest = torch.max(x, dim=-1, keepdim=True).values
    shifted = x - largest
    exponents = torch.exp(shifted)
    total = torch.sum(exponents, dim=-1, keepdim=True)
    return exponents / total


def attend(q, k, v, mask):
    scores = torch.einsum("...qd,...kd->...qk", q, k)
    masked = torch.where(mask, scores, -torch.inf)
    weighted = softmax(masked / math.sqrt(q.shape[-1]))
    return torch.einsum("...qk,...kd->...qd", weighted, v)


class Attention(nn.Module):
    def __init__(self, width: int, heads: int):
        super().__init__()
        self.heads = heads
        self.q, self.k, self.v, self.out = (weights(width, width) for _ in range(4))

    def split(self, x):
        return x.unflatten(-1, (self.heads, -1)).transpose(1, 2)

    def forward(self, x):
        q, k, v = (project(each, x) for each in (self.q, self.k, self.v))
        many_q, many_k, many_v = self.split(q), self.split(k), self.split(v)
        length = x.shape[-2]
        positions = torch.arange(length, device=x.device)
        of_each = positions.expand(x.shape[0], length)
        rotary = Rotary(many_q.shape[-1], length)
        turned_q = rotary(many_q, of_each)
        turned_k = rotary(many_k, of_each)
        mask = torch.tril(torch.ones((length, length), device=x.device, dtype=torch.bool))
        heads = attend(turned_q, turned_k, many_v, mask)
        merged = heads.transpose(1, 2).flatten(-2)
        result = project(self.out, merged)
        return result


class FeedForward(nn.Module):
    def __init__(self, width: int, hidden: int):
        super().__init__()
        self.gate, self.down, self.up = (
            weights(*shape) for shape in ((hidden, width), (width, hidden), (hidden, width))
        )

    def forward(self, x):
        gate = project(self.gate, x)
        up = project(self.up, x)
        active = gate * torch.sigmoid(gate)
        product = active * up
        return project(self.down, product)


class Block(nn.Module):
    def __init__(self, width: int, hidden: int, heads: int):
        super().__init__()
        self.norm1 = RMSNorm(width)
        self.attention = Attention(width, heads)
        self.norm2 = RMSNorm(width)
        self.feed_forward = FeedForward(width, hidden)

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        x = x + self.feed_forward(self.norm2(x))
        return x


class LanguageModel(nn.Module):
    def __init__(self, width: int, hidden: int, layers: int, heads: int):
        super().__init__()
        # A list each, because a parameter of the model's own would come before its blocks'.
        self.embedding = nn.ParameterList([weights(VOCABULARY, width)])
        self.blocks = nn.ModuleList(Block(width, hidden, heads) for _ in range(layers))
        self.norm = RMSNorm(width)
        self.head = nn.ParameterList([weights(VOCABULARY, width)])

    def forward(self, x):
        x = self.embedding[0][x]
        for block in self.blocks:
            x = block(x)
        x = self.norm(x)
        logits = project(self.head[0], x)
        return logits


class AdamW(torch.optim.Optimizer):
    """By hand and in place, with its moments made at the first step."""

    def __init__(self, parameters, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, decay=0.01):
        super().__init__(parameters, {"lr": lr, "betas": betas, "eps": eps, "decay": decay})

    def step(self):
        for group in self.param_groups:
            lr, (beta1, beta2) = group["lr"], group["betas"]
            for p in group["params"]:
                state = self.state[p]
                if not state:
                    state["m"], state["v"] = torch.zeros_like(p), torch.zeros_like(p)
                m, v = state["m"], state["v"]
                gradient = p.grad.data
                m.mul_(beta1).add_(gradient, alpha=1 - beta1)
                v.mul_(beta2).addcmul_(gradient, gradient, value=1 - beta2)
                root = v.sqrt().add_(group["eps"])
                p.data.addcdiv_(m, root, value=-lr)
                p.data.add_(p.data, alpha=-lr * group["decay"])


def benchmark(record, shape: str, until: str, mixed: bool, warm_ups: list[int], steps: int) -> None:
    """`until`: the recording of the last step ends after its "forward" or its "step"."""
    model = LanguageModel(*SHAPES[shape])
    optimizer = AdamW(model.parameters())
    for number, warm_up in enumerate(warm_ups, 1):
        last = number == len(warm_ups)
        series(record if last else None, model, optimizer, until, mixed, warm_up, steps)


def series(record, model, optimizer, until: str, mixed: bool, warm_up: int, steps: int) -> None:
    tokens = torch.randint(0, VOCABULARY, (BATCH, LENGTH), device="cuda")
    for _ in range(warm_up):
        logits = model(tokens)
        loss = logits.sum()
        optimizer.zero_grad()
        loss.backward()
    for step in range(steps):
        last = record and step == steps - 1
        if last:
            record.start()
        with torch.autocast("cuda", dtype=torch.bfloat16) if mixed else nullcontext():
            logits = model(tokens)
            if last and until == "forward":
                record.stop()
                return
        loss = logits.sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if last:
            record.stop()
