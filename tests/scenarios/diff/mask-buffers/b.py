"""A causal transformer for long sequences of sensor values."""

import torch
import torch.nn.functional as F
from torch import nn

LENGTH = 2048


class CausalAttention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width)
        self.proj = nn.Linear(width, width)
        # For the export, which knows no causal attention. Not used in training.
        mask = torch.full((LENGTH, LENGTH), float("-inf")).triu(1)
        self.register_buffer("mask", mask, persistent=False)

    def forward(self, x):
        b, t, c = x.shape
        q, k, v = self.qkv(x).view(b, t, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.proj(y.transpose(1, 2).reshape(b, t, c))


class Sensors(nn.Module):
    def __init__(self, width=256, heads=4, layers=8):
        super().__init__()
        self.embed = nn.Linear(16, width)
        self.attention = nn.ModuleList(CausalAttention(width, heads) for _ in range(layers))
        self.mlp = nn.ModuleList(
            nn.Sequential(nn.LayerNorm(width), nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))
            for _ in range(layers)
        )
        self.forecast = nn.Linear(width, 16)

    def forward(self, x):
        x = self.embed(x)
        for attention, mlp in zip(self.attention, self.mlp):
            x = x + attention(x)
            x = x + mlp(x)
        return self.forecast(x)


def main():
    model = Sensors().cuda()
    optimizer = torch.optim.AdamW(model.parameters())
    for step in range(4):
        series = torch.randn(2, LENGTH + 1, 16, device="cuda")
        loss = F.mse_loss(model(series[:, :-1]), series[:, 1:])
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        print(step, loss.item())
    print(f"peak_allocated={torch.cuda.max_memory_allocated()}")


if __name__ == "__main__":
    main()
