"""Distills a large tagger into a small one. The scores of the teacher are large."""

import torch
import torch.nn.functional as F
from torch import nn

TAGS = 8192


class Tagger(nn.Module):
    def __init__(self, width, layers):
        super().__init__()
        self.embed = nn.Embedding(4096, width)
        self.layers = nn.Sequential(
            *(nn.TransformerEncoderLayer(width, 8, 2 * width, dropout=0.0, batch_first=True) for _ in range(layers))
        )
        self.tags = nn.Linear(width, TAGS)

    def forward(self, ids):
        return self.tags(self.layers(self.embed(ids)))


def main():
    teacher = Tagger(512, 6).cuda().eval().requires_grad_(False)
    student = Tagger(256, 2).cuda()
    optimizer = torch.optim.AdamW(student.parameters(), lr=5e-4)
    for step in range(4):
        ids = torch.randint(4096, (16, 128), device="cuda")
        with torch.no_grad():
            scores = teacher(ids)
            targets = scores.argmax(-1)
            del scores
        logits = student(ids)
        loss = F.cross_entropy(logits.flatten(0, 1), targets.flatten())
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        print(step, loss.item())
        del logits, loss
    print(f"peak_allocated={torch.cuda.max_memory_allocated()}")


if __name__ == "__main__":
    main()
