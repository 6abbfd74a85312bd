import gc
import torch
from torch import nn


def block(c):
    return nn.Sequential(nn.Conv2d(c, c, 3, padding=1), nn.BatchNorm2d(c), nn.ReLU())


class Seg(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(3, 48, 3, padding=1)
        self.body = nn.Sequential(*[block(48) for _ in range(6)])
        self.out = nn.Conv2d(48, 4, 1)

    def forward(self, x):
        return self.out(self.body(self.stem(x)))


def one_step(model, opt, n):
    x = torch.randn(n, 3, 256, 256, device="cuda")
    y = torch.zeros(n, 256, 256, dtype=torch.long, device="cuda")
    loss = nn.functional.cross_entropy(model(x), y)
    opt.zero_grad(set_to_none=True)
    loss.backward()
    opt.step()


def find_batch_size(model, opt, start=128):
    n = start
    while n >= 1:
        failed = False
        try:
            one_step(model, opt, n)
        except torch.cuda.OutOfMemoryError:
            failed = True
        if not failed:
            return n
        opt.zero_grad(set_to_none=True)
        gc.collect()
        torch.cuda.empty_cache()
        n //= 2
    raise SystemExit("not even one image fits")


model = Seg().cuda()
opt = torch.optim.Adam(model.parameters())
bs = max(1, find_batch_size(model, opt) // 2)      # leave some room
print("batch size", bs, flush=True)
for epoch in range(3):
    for it in range(12):
        one_step(model, opt, bs)
    print("epoch", epoch, torch.cuda.memory_allocated() >> 20, "MiB", flush=True)
