import copy
import os
import tempfile
import torch
from torch import nn


def make_model():
    return nn.Sequential(*[m for _ in range(4) for m in (nn.Linear(3072, 3072, device="cuda"), nn.ReLU())])


def train(model, ema, opt, steps=5):
    for _ in range(steps):
        loss = model(torch.randn(64, 3072, device="cuda")).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        with torch.no_grad():
            for a, b in zip(ema.parameters(), model.parameters()):
                a.lerp_(b, 0.01)


def first_run(path):
    model = make_model()
    ema = copy.deepcopy(model)
    opt = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    train(model, ema, opt)
    torch.save({"model": model.state_dict(), "ema": ema.state_dict(), "opt": opt.state_dict(), "epoch": 1}, path)
    print("saved", os.path.getsize(path) >> 20, "MiB", torch.cuda.max_memory_reserved() >> 20, flush=True)


def resume(path):
    model = make_model()
    ema = copy.deepcopy(model)
    opt = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    state = torch.load(path, map_location="cuda")
    os.unlink(path)
    model.load_state_dict(state["model"])
    ema.load_state_dict(state["ema"])
    opt.load_state_dict(state["opt"])
    print("resumed at epoch", state["epoch"], flush=True)
    for epoch in range(state["epoch"], 4):
        train(model, ema, opt)
        print("epoch", epoch, torch.cuda.max_memory_reserved() >> 20, flush=True)


path = os.path.join(tempfile.gettempdir(), f"resume_{os.getpid()}.pt")
first_run(path)
torch.cuda.empty_cache()
resume(path)        # what a preempted job does when it comes back
