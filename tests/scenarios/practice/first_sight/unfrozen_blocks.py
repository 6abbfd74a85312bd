# gradual unfreezing, last block first (ULMFiT style)
import torch
from torch import nn

WIDTH, BLOCKS = 4096, 7


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(WIDTH, WIDTH, device="cuda")
        self.b = nn.Linear(WIDTH, WIDTH, device="cuda")

    def forward(self, x):
        return x + self.b(torch.relu(self.a(x)))


backbone = nn.ModuleList(Block() for _ in range(BLOCKS))
head = nn.Linear(WIDTH, 5, device="cuda")
backbone.requires_grad_(False)


def run_epoch(opt, batches=6):
    for _ in range(batches):
        x = torch.randn(64, WIDTH, device="cuda")
        for blk in backbone:
            x = blk(x)
        loss = nn.functional.cross_entropy(head(x), torch.zeros(64, dtype=torch.long, device="cuda"))
        opt.zero_grad()
        loss.backward()
        opt.step()


optimizer = torch.optim.AdamW(head.parameters(), lr=1e-3)
for epoch in range(BLOCKS + 1):
    if epoch > 0:
        blk = backbone[BLOCKS - epoch]
        blk.requires_grad_(True)
        optimizer.add_param_group({"params": list(blk.parameters()), "lr": 1e-4 / epoch})
    run_epoch(optimizer)
    print("epoch", epoch, "trainable blocks", epoch, flush=True)
