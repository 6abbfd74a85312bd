"""Reinforcement learning with five actors, each a process with a copy of a tiny policy, and one
learner. True: every actor that touches the GPU has a context there; the policies are nothing."""

import argparse
import json
import sys

import torch
import torch.multiprocessing as mp
from torch import nn

ACTORS = 5


def act(device, ready, done):
    policy = nn.Linear(32, 4).to(device)
    action = policy(torch.zeros(1, 32, device=device)).argmax().item()
    held = torch.cuda.memory_reserved() if device == "cuda" else 0
    ready.put((action, held))
    done.wait()


def learn():
    critic = nn.Sequential(nn.Linear(4096, 8192), nn.Tanh(), nn.Linear(8192, 4096)).cuda()
    optimizer = torch.optim.Adam(critic.parameters())
    critic(torch.randn(512, 4096, device="cuda")).mean().backward()
    optimizer.step()
    torch.cuda.synchronize()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--actor-device", default="cuda")
    device = parser.parse_args().actor_device
    processes = mp.get_context("fork")
    ready, done = processes.Queue(), processes.Event()
    actors = [processes.Process(target=act, args=(device, ready, done)) for _ in range(ACTORS)]
    for actor in actors:
        actor.start()
    tensors = sum(ready.get()[1] for _ in actors)
    try:
        torch.cuda.init()
        free, total = torch.cuda.mem_get_info()
        own = 418 << 20  # an A100's context
        print(json.dumps({"bytes": total - free - own - tensors}), flush=True)
        learn()
    finally:
        done.set()
    [actor.join() for actor in actors]
    print("learned")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
