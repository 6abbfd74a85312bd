"""What the scenarios share: a GPT-style model, a training step, the last line."""

import json
import os

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint

MIB = 1 << 20
GIB = 1 << 30


class Block(nn.Module):
    def __init__(self, width: int, heads: int):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def attend(self, x):
        heads = self.qkv(x).unflatten(-1, (3, self.heads, -1))
        q, k, v = heads.permute(2, 0, 3, 1, 4)
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.out(mixed.transpose(1, 2).flatten(-2))

    def forward(self, x):
        x = x + self.attend(self.norm1(x))
        return x + self.down(F.gelu(self.up(self.norm2(x))))


class GPT(nn.Module):
    def __init__(self, vocabulary=4096, width=256, layers=4, heads=8, context=512):
        super().__init__()
        self.vocabulary = vocabulary
        self.checkpointing = False
        self.tokens = nn.Embedding(vocabulary, width)
        self.positions = nn.Embedding(context, width)
        self.blocks = nn.ModuleList(Block(width, heads) for _ in range(layers))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, vocabulary, bias=False)

    def forward(self, tokens):
        places = torch.arange(tokens.shape[1], device=tokens.device)
        x = self.tokens(tokens) + self.positions(places)
        for block in self.blocks:
            x = checkpoint(block, x, use_reentrant=False) if self.checkpointing else block(x)
        return self.head(self.norm(x))


def train_step(model: GPT, optimizer, batch: int, length: int, device="cuda") -> None:
    # The tokens come from the host: a random kernel on the device fills in nothing.
    tokens = torch.randint(model.vocabulary, (batch, length + 1)).to(device)
    with torch.autocast(device, dtype=torch.bfloat16):
        logits = model(tokens[:, :-1])
        loss = F.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten())
    loss.backward()
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)


def report(figures: dict) -> None:
    """Prints the figures as the last line of a scenario, and ends it.

    After a backward pass, PyTorch's autograd thread needs the interpreter's lock
    once more to drop what it kept. Should the interpreter end first, Python 3.11
    ends the thread in a way that aborts the process: one run in ten did, with
    nothing left to do in between. So the process ends at once;
    dataloader.py ends as programs do.
    """
    print(json.dumps(figures), flush=True)
    os._exit(0)
