"""Programs that end, grow, fail or decide in ways that `whyoom fit` must notice: behaviour.py CASE."""

import sys

import torch
from torch import nn


def model():
    return nn.Sequential(nn.Linear(1024, 4096), nn.ReLU(), nn.Linear(4096, 1024)).to("cuda")


def inference():
    """No optimizer: calls of the model are the steps."""
    network = model()
    with torch.inference_mode():
        while True:
            network(torch.randn(64, 1024, device="cuda"))


def accumulation():
    """Twenty equal micro-batches a step: it must not be ended before the optimizer has its state."""
    network = model()
    optimizer = torch.optim.AdamW(network.parameters())
    while True:
        for _ in range(20):
            network(torch.randn(64, 1024, device="cuda")).sum().backward()
        optimizer.step()
        optimizer.zero_grad()


def varying():
    """Inputs of many lengths: no two steps are alike, and the longest one comes late."""
    network = model()
    optimizer = torch.optim.SGD(network.parameters(), lr=0.1)
    step = 0
    while True:
        step += 1
        length = 2048 if step == 30 else 64 + step * 37 % 1024
        network(torch.randn(length, 1024, device="cuda")).sum().backward()
        optimizer.step()
        optimizer.zero_grad()


def growing():
    """Keeps something of each step."""
    network = model()
    optimizer = torch.optim.SGD(network.parameters(), lr=0.1)
    kept = []
    while True:
        outputs = network(torch.randn(64, 1024, device="cuda"))
        outputs.sum().backward()
        kept.append(outputs.detach())
        optimizer.step()
        optimizer.zero_grad()


def deciding():
    """Chooses shapes by values, and a size by the memory that is free."""
    network = model()
    free, _ = torch.cuda.mem_get_info()
    rows = 64 if free > 2**30 else 32
    with torch.inference_mode():
        while True:
            outputs = network(torch.randn(rows, 1024, device="cuda"))
            outputs[outputs > 0].sum().item()


def failing():
    network = model()
    network(torch.randn(64, 1024, device="cuda"))
    raise RuntimeError("the data set is missing")


class Numbers(torch.utils.data.Dataset):
    def __len__(self):
        return 1_000_000

    def __getitem__(self, index):
        return torch.zeros(1024)


def workers():
    """Forked workers have the hooks and no GPU; they must not outlive the run."""
    network = model()
    optimizer = torch.optim.SGD(network.parameters(), lr=0.1)
    for batch in torch.utils.data.DataLoader(Numbers(), batch_size=32, num_workers=2):
        network(batch.to("cuda")).sum().backward()
        optimizer.step()
        optimizer.zero_grad()


def short():
    """Ends by itself, after one step."""
    network = model()
    network(torch.randn(64, 1024, device="cuda")).sum().backward()
    torch.optim.SGD(network.parameters(), lr=0.1).step()


if __name__ == "__main__":
    globals()[sys.argv[1]]()
