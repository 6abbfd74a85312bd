"""Speech recognition: convolutions, an LSTM, letters."""

import torch
from torch import nn


class Downsample(nn.Module):
    def __init__(self, channels_in, channels_out):
        super().__init__()
        self.conv = nn.Conv1d(channels_in, channels_out, 8, 4, 2)
        self.norm = nn.BatchNorm1d(channels_out)

    def forward(self, x):
        return torch.relu(self.norm(self.conv(x)))


class Speech(nn.Module):
    """Letters from raw sound."""

    def __init__(self, letters=32):
        super().__init__()
        self.encoder = nn.Sequential(Downsample(1, 64), Downsample(64, 128), Downsample(128, 256), Downsample(256, 512))
        self.rnn = nn.LSTM(512, 512, 2, batch_first=True, bidirectional=True)
        self.letters = nn.Linear(1024, letters)

    def forward(self, sound):
        frames = self.encoder(sound[:, None]).transpose(1, 2)
        return self.letters(self.rnn(frames)[0])


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
