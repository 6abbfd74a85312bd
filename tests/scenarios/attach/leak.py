"""Keeps one tensor of each step."""

import time

import torch
from common import end, is_over, ready


class Trainer:
    def __init__(self):
        self.history = []

    def step(self):
        output = torch.empty(1 << 20, device="cuda")
        loss = torch.empty(256 << 10, device="cuda")
        self.history.append(loss)
        del output


def main():
    model = torch.empty(16 << 20, device="cuda")
    trainer = Trainer()
    trainer.step()
    ready(torch)
    while not is_over():
        trainer.step()
        time.sleep(0.02)
    assert model.numel() > 0
    print("every step is kept:", all(loss.numel() == 256 << 10 for loss in trainer.history))


main()
end()
