"""Fine-tunes a frozen bfloat16 GPT-2 with low-rank adapters: lora.py [--size 1.5b] [--rank 16]."""

import argparse
import math

import torch
import torch.nn.functional as F
from gpt2 import GPT2, SIZES, Config
from torch import nn

ADAPTED = ("qkv", "out", "up", "down")


class Adapted(nn.Module):
    """A frozen linear layer, and a trained product of two thin matrices beside it."""

    def __init__(self, frozen: nn.Linear, rank: int, alpha: float = 32.0, dropout: float = 0.05):
        super().__init__()
        self.frozen = frozen
        self.scale = alpha / rank
        self.dropout = nn.Dropout(dropout)
        self.a = nn.Parameter(torch.empty(rank, frozen.in_features))
        self.b = nn.Parameter(torch.zeros(frozen.out_features, rank))
        nn.init.kaiming_uniform_(self.a, a=math.sqrt(5))

    def forward(self, x):
        low = F.linear(self.dropout(x), self.a.to(x.dtype))
        return self.frozen(x) + F.linear(low, self.b.to(x.dtype)) * self.scale


def add_adapters(model: nn.Module, rank: int) -> nn.Module:
    model.requires_grad_(False)
    for module in list(model.modules()):
        for name in ADAPTED:
            layer = getattr(module, name, None)
            if isinstance(layer, nn.Linear):
                setattr(module, name, Adapted(layer, rank))
    return model


def build(size: str, rank: int, recompute: bool = False) -> GPT2:
    # In bfloat16 from the start, as a checkpoint in bfloat16 is loaded.
    torch.set_default_dtype(torch.bfloat16)
    model = GPT2(Config(*SIZES[size], checkpoint=recompute))
    torch.set_default_dtype(torch.float32)
    return add_adapters(model, rank)


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("--size", choices=SIZES, default="1.5b")
    parser.add_argument("--rank", type=int, default=16)
    parser.add_argument("--batch", type=int, default=4)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--checkpoint", action="store_true", help="recompute activations")
    return parser.parse_args()


def main():
    args = arguments()
    with torch.device("cuda"):
        model = build(args.size, args.rank, args.checkpoint)
    trained = [p for p in model.parameters() if p.requires_grad]
    optimizer = torch.optim.AdamW(trained, lr=2e-4)
    print(f"training {sum(p.numel() for p in trained):,} parameters")

    text = torch.randint(model.config.vocabulary, (args.batch, model.config.context + 1))
    for step in range(args.steps):
        ids = text[:, :-1].to("cuda", non_blocking=True)
        targets = text[:, 1:].to("cuda", non_blocking=True)
        loss = model(ids, targets)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        if step % 10 == 0:
            print(f"step {step}: loss {loss.item():.3f}", flush=True)
    print(f"peak {torch.cuda.max_memory_allocated() / 2**20:.0f} MiB")


if __name__ == "__main__":
    main()
