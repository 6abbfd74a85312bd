"""Generates text with a static KV cache."""

import torch
import torch.nn.functional as F
from torch import nn

MAX_LENGTH = 1024


class CachedAttention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width, bias=False)
        self.out = nn.Linear(width, width, bias=False)
        self.cache = None

    def allocate(self, batch, length):
        weight = self.qkv.weight
        shape = (2, batch, self.heads, length, weight.shape[1] // self.heads)
        self.cache = torch.zeros(shape, dtype=weight.dtype, device=weight.device)

    def forward(self, x, start):
        b, t, c = x.shape
        q, k, v = self.qkv(x).view(b, t, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        self.cache[0, :, :, start : start + t] = k
        self.cache[1, :, :, start : start + t] = v
        keys, values = self.cache[:, :, :, : start + t]
        y = F.scaled_dot_product_attention(q, keys, values, is_causal=t > 1)
        return self.out(y.transpose(1, 2).reshape(b, t, c))


class Generator(nn.Module):
    def __init__(self, vocab=32000, width=1024, heads=16, layers=8):
        super().__init__()
        self.embed = nn.Embedding(vocab, width)
        self.attention = nn.ModuleList(CachedAttention(width, heads) for _ in range(layers))
        self.mlp = nn.ModuleList(
            nn.Sequential(nn.Linear(width, 4 * width), nn.SiLU(), nn.Linear(4 * width, width)) for _ in range(layers)
        )
        self.head = nn.Linear(width, vocab, bias=False)

    def forward(self, ids, start):
        x = self.embed(ids)
        for attention, mlp in zip(self.attention, self.mlp):
            x = x + attention(x, start)
            x = x + mlp(x)
        return self.head(x[:, -1])


@torch.inference_mode()
def generate(model, prompts, tokens):
    for attention in model.attention:
        attention.allocate(len(prompts), MAX_LENGTH)
    ids, start = prompts, 0
    for _ in range(tokens):
        scores = model(ids, start)
        start += ids.shape[1]
        ids = scores.argmax(-1, keepdim=True)
    return start


def main():
    model = Generator().to("cuda", torch.bfloat16)
    prompts = torch.randint(32000, (8, 256), device="cuda")
    print("length", generate(model, prompts, 16))
    print(f"peak_allocated={torch.cuda.max_memory_allocated()}")


if __name__ == "__main__":
    main()
