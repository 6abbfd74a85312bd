"""Fine-tunes a frozen encoder through low-rank adapters."""

import torch
import torch.nn.functional as F
from torch import nn

VOCAB, WIDTH = 16384, 512


class LoRALinear(nn.Module):
    def __init__(self, base, rank=8):
        super().__init__()
        self.base = base
        self.lora_a = nn.Parameter(torch.randn(rank, base.in_features) * 0.01)
        self.lora_b = nn.Parameter(torch.zeros(base.out_features, rank))

    def forward(self, x):
        return self.base(x) + F.linear(F.linear(x, self.lora_a), self.lora_b)


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(WIDTH)
        self.up = nn.Linear(WIDTH, 4 * WIDTH)
        self.down = nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x):
        return x + self.down(F.gelu(self.up(self.norm(x))))


class Encoder(nn.Module):
    def __init__(self, layers=8):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, WIDTH)
        self.blocks = nn.ModuleList(Block() for _ in range(layers))
        self.classify = nn.Linear(WIDTH, 4)

    def forward(self, ids):
        x = self.embed(ids)
        for block in self.blocks:
            x = block(x)
        return self.classify(x.mean(1))


def adapt(model):
    model.requires_grad_(False)
    for block in model.blocks:
        block.up = LoRALinear(block.up)
        block.down = LoRALinear(block.down)
    model.classify.requires_grad_(True)
    return model


def main():
    model = adapt(Encoder()).cuda()
    trained = [p for p in model.parameters() if p.requires_grad]
    optimizer = torch.optim.AdamW(trained, lr=2e-4)
    for step in range(4):
        ids = torch.randint(VOCAB, (16, 128), device="cuda")
        labels = torch.randint(4, (16,), device="cuda")
        loss = F.cross_entropy(model(ids), labels)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        print(step, loss.item())
    print(f"peak_allocated={torch.cuda.max_memory_allocated()}")


if __name__ == "__main__":
    main()
