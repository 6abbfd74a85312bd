"""An agent's replay memory fills up in its first hundred steps and is then reused, the oldest
first. Its owner saw it grow and feared a leak. True: it stops at its size."""

from collections import deque

import torch


def main():
    replay = deque(maxlen=100)
    policy = torch.nn.Linear(84 * 84, 6).cuda()
    with torch.no_grad():
        for step in range(400):
            frames = torch.zeros(64, 4, 84, 84, device="cuda")
            actions = policy(frames[:, 0].flatten(1)).argmax(dim=1)
            replay.append((frames, actions))
    print("kept", len(replay), torch.cuda.memory_allocated() >> 20, "MiB")


if __name__ == "__main__":
    main()
