"""Fine-tunes a small language model on examples of very different length, one after another, and
keeps the hidden states of the longest as a memory for retrieval.
True: the pieces that are free between the kept ones would hold what the long example asks for."""

import json
import random

import torch
import torch.nn.functional as F
from torch import nn

WIDTH, WORDS = 768, 8192


class Model(nn.Module):
    def __init__(self, layers=4):
        super().__init__()
        self.words = nn.Embedding(WORDS, WIDTH)
        self.layers = nn.ModuleList(
            nn.Sequential(nn.Linear(WIDTH, 3 * WIDTH), nn.GELU(), nn.Linear(3 * WIDTH, WIDTH))
            for _ in range(layers)
        )
        self.head = nn.Linear(WIDTH, WORDS, bias=False)

    def forward(self, tokens):
        x = self.words(tokens)
        for layer in self.layers:
            x = x + layer(x)
        return self.head(x), x


def step(model, optimizer, tokens):
    logits, hidden = model(tokens)
    loss = F.cross_entropy(logits.flatten(0, 1), tokens.flatten())
    loss.backward()
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
    return hidden.detach()


def report(_device, _asked, _total, _free):
    stats = torch.cuda.memory_stats()
    free = stats["reserved_bytes.large_pool.current"] - stats["allocated_bytes.large_pool.current"]
    print(json.dumps({"bytes": free}), flush=True)


def main():
    torch._C._cuda_attach_out_of_memory_observer(report)
    random.seed(5)
    model = Model().cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3, momentum=0.9)
    memory = {}
    for number in range(60):
        length = int(random.lognormvariate(7.2, 0.7)) + 64
        tokens = torch.randint(WORDS, (1, min(length, 7000))).cuda()
        memory[number % 24] = step(model, optimizer, tokens)
    print("peak", torch.cuda.max_memory_reserved() >> 20, torch.cuda.max_memory_allocated() >> 20)


if __name__ == "__main__":
    main()
