"""Trains with a loader that has workers of its own."""

import torch
from common import end, is_over, ready
from torch.utils.data import DataLoader, Dataset


class Numbers(Dataset):
    def __len__(self):
        return 64

    def __getitem__(self, at):
        return torch.full((1024,), float(at))


if __name__ == "__main__":
    model = torch.empty(16 << 20, device="cuda")
    loader = DataLoader(Numbers(), batch_size=8, num_workers=2, persistent_workers=True)
    # What the first round makes stays, as the workers do.
    rounds = sum(batch.shape[0] for batch in loader)
    ready(torch)
    while not is_over():
        rounds = sum(batch.shape[0] for batch in loader)
    print("numbers in a round:", rounds)
    end()
