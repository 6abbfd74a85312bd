"""Forced alignment of an audio book, shortest chapters first."""
import os
import torch
from torch import nn


class Acoustic(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv1d(80, 384, 5, padding=2)
        self.out = nn.Conv1d(384, 32, 1)

    def forward(self, mel):
        return self.out(torch.relu(self.conv(mel)))


def configure():
    os.environ.setdefault("PYTORCH_CUDA_ALLOC_CONF", "expandable_segments:True")
    torch.set_float32_matmul_precision("high")


@torch.no_grad()
def align(model, frames):
    mel = torch.zeros(1, 80, frames, device="cuda")
    logits = model(mel)
    return logits.log_softmax(1)[:, :16].half()


def main():
    model = Acoustic().cuda().eval()
    configure()
    posteriors = {}
    for chapter in range(240):
        frames = 60_000 + 700 * chapter
        posteriors[chapter] = align(model, frames)
        if chapter % 40 == 0:
            print("chapter", chapter, flush=True)
    total = sum(p.shape[-1] for p in posteriors.values())
    print("aligned", total, "frames")


main()
