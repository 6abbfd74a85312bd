import random
import torch
from torch import nn


class Replay:
    """Frames live on the GPU; old ones are overwritten once `capacity` is reached."""

    def __init__(self, capacity):
        self.capacity = capacity
        self.data = []
        self.at = 0

    def push(self, frame, action, reward):
        item = (frame, action, reward)
        if len(self.data) < self.capacity:
            self.data.append(item)
        else:
            self.data[self.at] = item
        self.at = (self.at + 1) % self.capacity

    def sample(self, rng, n):
        pick = rng.sample(self.data, n)
        return torch.stack([p[0] for p in pick]), torch.stack([p[1] for p in pick])


rng = random.Random(0)
buf = Replay(capacity=700)
net = nn.Sequential(nn.Conv2d(4, 32, 8, 4), nn.ReLU(), nn.Conv2d(32, 64, 4, 2), nn.ReLU(),
                    nn.AdaptiveAvgPool2d(4), nn.Flatten(), nn.Linear(1024, 6)).cuda()
opt = torch.optim.Adam(net.parameters(), lr=1e-4)
for t in range(3000):
    frame = torch.rand(4, 420, 420, device="cuda")
    action = torch.zeros((), dtype=torch.long, device="cuda")
    buf.push(frame, action, 0.0)
    if t >= 64 and t % 10 == 0:
        s, a = buf.sample(rng, 16)
        q = net(s).gather(1, a[:, None])
        loss = q.pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
    if t % 500 == 0:
        print("frame", t, "kept", len(buf.data), flush=True)
print("done")
