"""The program behind lm-small: three passes, or three training steps, of a small model.

Written anew from the published traces: the order of the operations, and how long
each result is kept in a name, decide the order and the lifetime of every
allocation. Both are therefore part of the contract here, and simplifications
that PyTorch would compute the same way are not.
"""

import math
from contextlib import nullcontext

import torch
from torch import nn

VOCABULARY, CONTEXT, WIDTH, LAYERS, HEADS, HIDDEN = 10_000, 256, 512, 4, 16, 1344
BATCH, STEPS = 10, 3


class Linear(nn.Module):
    def __init__(self, inputs: int, outputs: int):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(outputs, inputs, device="cuda"))

    def forward(self, x):
        # einsum goes through bmm, which allocates otherwise than F.linear.
        return torch.einsum("...i,oi->...o", x, self.weight)


class RMSNorm(nn.Module):
    def __init__(self):
        super().__init__()
        self.gain = nn.Parameter(torch.ones(WIDTH, device="cuda"))

    def forward(self, x):
        given = x.dtype
        x = x.to(torch.float32)
        scale = torch.sqrt(torch.mean(x**2, dim=-1, keepdim=True) + 1e-5)
        result = x / scale * self.gain
        return result.to(given)


class Rotary(nn.Module):
    """Rotary positions; the tables stay on the host and are copied at each use."""

    def __init__(self, width: int):
        super().__init__()
        rates = 10_000.0 ** (-torch.arange(0, width, 2) / width)
        angles = torch.outer(torch.arange(CONTEXT), rates)
        self.cosines, self.sines = angles.cos(), angles.sin()

    def forward(self, x):
        length = x.shape[-2]
        sin = self.sines[:length].to(x.device).unsqueeze(-1)
        cos = self.cosines[:length].to(x.device).unsqueeze(-1)
        x = x.unflatten(-1, (-1, 2))
        # Each use slices anew: backward allocates for every one of them.
        first = cos * x[..., :1] - sin * x[..., 1:]
        second = sin * x[..., :1] + cos * x[..., 1:]
        turned = torch.cat([first, second], dim=-1)
        return turned.flatten(-2)


def softmax(x):
    largest, _where = torch.max(x, dim=-1, keepdim=True)
    # The exponential is computed twice on purpose: the real program did.
    return torch.exp(x - largest) / torch.sum(torch.exp(x - largest), dim=-1, keepdim=True)


def attend(q, k, v, mask):
    mask = mask.to(q.device)
    scores = torch.einsum("...qd,...kd->...qk", q, k)
    scaled = scores / torch.sqrt(torch.tensor(q.shape[-1], device=scores.device))
    masked = scaled.masked_fill_(~mask.bool(), -math.inf)
    weights = softmax(masked)
    result = torch.einsum("...qk,...kd->...qd", weights, v)
    return result


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.rotary = Rotary(WIDTH // HEADS)
        self.q, self.k, self.v, self.out = (Linear(WIDTH, WIDTH) for _ in range(4))

    def forward(self, x):
        q, k, v = self.q(x), self.k(x), self.v(x)
        q, k, v = (each.unflatten(-1, (HEADS, -1)).transpose(1, 2) for each in (q, k, v))
        q = self.rotary(q)
        k = self.rotary(k)
        mask = torch.tril(torch.ones(x.shape[-2], x.shape[-2]))
        # One name throughout, so that the per-head result goes once it is merged.
        heads = attend(q, k, v, mask)
        heads = heads.transpose(1, 2).flatten(-2)
        heads = self.out(heads)
        return heads


class FeedForward(nn.Module):
    def __init__(self):
        super().__init__()
        self.gate, self.down = Linear(WIDTH, HIDDEN), Linear(HIDDEN, WIDTH)
        self.up = Linear(WIDTH, HIDDEN)

    def forward(self, x):
        gate = self.gate(x)
        active = gate * torch.sigmoid(gate)
        up = self.up(x)
        product = active * up
        return self.down(product)


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = RMSNorm(), RMSNorm()
        self.attention = Attention()
        self.feed_forward = FeedForward()

    def forward(self, x):
        # Named, because each lives until the block returns, as in the traces.
        normed = self.norm1(x)
        attended = self.attention(normed)
        middle = attended + x
        normed_middle = self.norm2(middle)
        changed = self.feed_forward(normed_middle)
        result = changed + middle
        return result


class LanguageModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Parameter(torch.empty(VOCABULARY, WIDTH, device="cuda"))
        self.blocks = nn.ModuleList(Block() for _ in range(LAYERS))
        self.norm = RMSNorm()
        self.head = Linear(WIDTH, VOCABULARY)

    def forward(self, x):
        x = self.embedding[x]
        for block in self.blocks:
            x = block(x)
        x = self.norm(x)
        return self.head(x)


class Adam(torch.optim.Optimizer):
    """By hand and out of place, with its moments made at once."""

    def __init__(self, parameters, lr=0.001, betas=(0.9, 0.999), eps=1e-8, decay=0.0):
        super().__init__(parameters, {"lr": lr, "betas": betas, "eps": eps, "decay": decay})
        for p in self.param_groups[0]["params"]:
            self.state[p] = {"m": torch.zeros_like(p.data), "v": torch.zeros_like(p.data), "t": 0}

    def step(self):
        group = self.param_groups[0]
        (beta1, beta2), lr = group["betas"], group["lr"]
        for p in group["params"]:
            state = self.state[p]
            t = state["t"] + 1
            rate = lr * math.sqrt(1 - beta2**t) / (1 - beta1**t)
            gradient = p.grad.data
            m = state["m"]
            new_m = beta1 * m + (1 - beta1) * gradient
            state["m"] = new_m
            v = state["v"]
            new_v = beta2 * v + (1 - beta2) * gradient**2
            state["v"] = new_v
            state["t"] = t
            p.data = p.data - rate * (new_m / (torch.sqrt(new_v) + group["eps"]))
            p.data = p.data - lr * group["decay"] * p.data


def cross_entropy(x, target):
    largest, _where = torch.max(x, dim=-1, keepdim=True)
    log = x - largest - torch.log(torch.sum(torch.exp(x - largest), dim=-1, keepdim=True))
    wanted = torch.zeros_like(log)
    wanted.scatter_(-1, target.unsqueeze(-1), 1)
    loss = -torch.sum(wanted * log) / x.shape[0]
    return loss


def random_tokens(*shape: int):
    return torch.randint(VOCABULARY, shape).to("cuda")


def forward(record, length: int, mixed: bool = False) -> None:
    record.start()
    model = LanguageModel()
    tokens = random_tokens(BATCH, length)
    for _ in range(STEPS):
        with torch.autocast("cuda", dtype=torch.bfloat16) if mixed else nullcontext():
            # The result is not named: nothing of one pass may outlive it.
            model(tokens)
    record.stop()


def training(record, length: int, mixed: bool = False) -> None:
    record.start()
    model = LanguageModel()
    optimizer = Adam(model.parameters())
    tokens = random_tokens(BATCH, length)
    labels = random_tokens(BATCH)
    # Around all steps and backward too: what it casts is kept until the end.
    with torch.autocast("cuda", dtype=torch.bfloat16) if mixed else nullcontext():
        for _ in range(STEPS):
            optimizer.zero_grad()
            logits = model(tokens)
            last = logits[:, -1, :]
            loss = cross_entropy(last, labels)
            loss.backward()
            optimizer.step()
    record.stop()
