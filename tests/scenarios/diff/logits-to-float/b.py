"""Trains a bfloat16 language model with a large vocabulary."""

import torch
import torch.nn.functional as F
from torch import nn

VOCAB = 32768


class Mixing(nn.Module):
    """Gated mixing of a token with its predecessors."""

    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.gate = nn.Linear(width, 2 * width)
        self.mix = nn.Conv1d(width, width, 4, groups=width)
        self.out = nn.Linear(width, width)

    def forward(self, x):
        value, gate = self.gate(self.norm(x)).chunk(2, -1)
        value = self.mix(F.pad(value.transpose(1, 2), (3, 0))).transpose(1, 2)
        return x + self.out(value * gate.sigmoid())


class Model(nn.Module):
    def __init__(self, width=512, layers=12):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, width)
        self.layers = nn.Sequential(*(Mixing(width) for _ in range(layers)))
        self.lm_head = nn.Linear(width, VOCAB, bias=False)

    def forward(self, ids, labels):
        logits = self.lm_head(self.layers(self.embed(ids)))
        # The loss is more exact in float32.
        logits = logits.float()
        return F.cross_entropy(logits.view(-1, VOCAB), labels.view(-1))


def main():
    model = Model().to("cuda", torch.bfloat16)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(4):
        ids = torch.randint(VOCAB, (4, 513), device="cuda")
        loss = model(ids[:, :-1].contiguous(), ids[:, 1:].contiguous())
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        print(step, loss.item())
    print(f"peak_allocated={torch.cuda.max_memory_allocated()}")


if __name__ == "__main__":
    main()
