"""A loop that keeps one block of each step, slowly enough to be looked at while it runs: STEPS PAUSE [FILE]. When it
is done it writes the file, so that others know that it was not disturbed."""

import os
import sys
import time

import torch

kept: list[torch.Tensor] = []


def main() -> None:
    steps, pause = int(sys.argv[1]), float(sys.argv[2])
    weights = torch.zeros(256, 256, device="cuda", requires_grad=True)
    optimizer = torch.optim.SGD([weights], lr=0.01)
    for _ in range(steps):
        (torch.ones(64, 256, device="cuda") @ weights).sum().backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        kept.append(torch.empty(1 << 16, device="cuda"))  # what grows
        time.sleep(pause)
    print("steps:", steps, flush=True)
    for name in sys.argv[3:]:
        with open(name, "w", encoding="utf-8") as done:
            done.write("done")
    # As servers are ended: what it keeps is not given back on the way.
    os._exit(0)


main()
