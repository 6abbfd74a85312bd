import sys
import torch
import torch.multiprocessing as mp
from torch import nn


def net():
    return nn.Sequential(nn.Conv2d(3, 64, 3, padding=1), nn.ReLU(),
                         nn.Conv2d(64, 64, 3, padding=1), nn.ReLU(),
                         nn.Conv2d(64, 3, 3, padding=1)).cuda()


def evaluate(weights):
    """A process of its own, so that the metric library cannot disturb training."""
    model = net()
    model.load_state_dict(weights)
    with torch.no_grad():
        for _ in range(3):
            out = model(torch.zeros(4, 3, 1024, 1024, device="cuda"))
    print("evaluated", tuple(out.shape), flush=True)


def main():
    ctx = mp.get_context("spawn")
    model = net()
    opt = torch.optim.Adam(model.parameters())
    for epoch in range(3):
        for _ in range(8):
            x = torch.rand(16, 3, 320, 320, device="cuda")
            loss = (model(x) - x).abs().mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
        del x, loss
        weights = {k: v.cpu() for k, v in model.state_dict().items()}
        p = ctx.Process(target=evaluate, args=(weights,))
        p.start()
        p.join()
        if p.exitcode:
            sys.exit(f"evaluation failed after epoch {epoch}")
        print("epoch", epoch, flush=True)


if __name__ == "__main__":
    main()
