"""A translation model (encoder and decoder) whose output layer shares the embedding."""

import torch
import torch.nn.functional as F
from torch import nn

VOCAB, WIDTH = 24576, 512


class Translator(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, WIDTH)
        self.transformer = nn.Transformer(WIDTH, 8, 3, 3, 2048, dropout=0.0, batch_first=True)
        self.generator = nn.Linear(WIDTH, VOCAB, bias=False)

    def forward(self, source, target):
        mask = nn.Transformer.generate_square_subsequent_mask(target.shape[1], device=target.device)
        hidden = self.transformer(self.embed(source), self.embed(target), tgt_mask=mask)
        return self.generator(hidden)


def learning_rate(step, warmup=100):
    return min(1.0, (step + 1) / warmup)


def main():
    model = Translator().cuda()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-4, fused=True)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, learning_rate)
    for step in range(4):
        source = torch.randint(VOCAB, (8, 96), device="cuda")
        target = torch.randint(VOCAB, (8, 65), device="cuda")
        scores = model(source, target[:, :-1])
        loss = F.cross_entropy(scores.flatten(0, 1), target[:, 1:].flatten(), label_smoothing=0.1)
        loss.backward()
        optimizer.step()
        schedule.step()
        optimizer.zero_grad()
        print(step, loss.item())
    print(f"peak_allocated={torch.cuda.max_memory_allocated()}")


if __name__ == "__main__":
    main()
