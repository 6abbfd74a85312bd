"""A speech transducer: its joint tensor is made and freed in every step; between two steps the
exponential moving average of the weights is set up, and lands in the hole that the first one left.
True: the second joint tensor would fit if the segment of the first were not split."""

import json

import torch
from torch import nn

FRAMES, LABELS, VOCABULARY = 420, 96, 1024


class Transducer(nn.Module):
    def __init__(self, width=1280, layers=5):
        super().__init__()
        self.encoder = nn.Sequential(*(nn.Linear(width, width) for _ in range(layers)))
        self.predictor = nn.Embedding(VOCABULARY, width)
        self.joint = nn.Linear(width, VOCABULARY)

    def forward(self, sound, labels):
        left = self.joint(self.encoder(sound))
        right = self.joint(self.predictor(labels))
        return left[:, :, None] + right[:, None]


def report(_device, _asked, _total, _free):
    stats = torch.cuda.memory_stats()
    free = stats["reserved_bytes.large_pool.current"] - stats["allocated_bytes.large_pool.current"]
    print(json.dumps({"bytes": free}), flush=True)


def main():
    torch._C._cuda_attach_out_of_memory_observer(report)
    model = Transducer().cuda()
    sound = torch.randn(8, FRAMES, 1280, device="cuda")
    labels = torch.randint(VOCABULARY, (8, LABELS)).cuda()
    averages = []
    for step in range(3):
        with torch.no_grad():
            scores = model(sound, labels)
            del scores
        for _ in range(6):  # averages over windows of different length
            averages.append([p.detach().clone() for p in model.parameters()])
        averages = averages[-12:]
        print("step", step, torch.cuda.memory_reserved() >> 20, "MiB", flush=True)


if __name__ == "__main__":
    main()
