"""Speech recognition: trains the model of speech_model.py."""

import torch
from torch import nn

from speech_model import Speech


def sounds(batches):
    for _ in range(batches):
        yield torch.randn(16, 65536).cuda(), torch.randint(1, 32, (16, 40)).cuda()


def main():
    model = Speech().cuda()
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4, fused=True)
    for sound, text in sounds(4):
        scores = model(sound)
        loss = nn.functional.cross_entropy(scores[:, :40].transpose(1, 2), text)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        print(loss.item())
    print(f"peak_allocated={torch.cuda.max_memory_allocated()}")


if __name__ == "__main__":
    main()
