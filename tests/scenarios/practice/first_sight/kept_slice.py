import torch
from torch import nn


class Probe:
    """Collects the first image's features of some layers, for the plots at the end of a run."""

    def __init__(self, model, names):
        self.feats = {n: [] for n in names}
        for name, mod in model.named_modules():
            if name in self.feats:
                mod.register_forward_hook(self.hook(name))

    def hook(self, name):
        def fn(module, inputs, output):
            self.feats[name].append(output.detach()[0])
        return fn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(3, 32, 3, 2, 1)
        self.mid = nn.Conv2d(32, 64, 3, 2, 1)
        self.top = nn.Conv2d(64, 128, 3, 2, 1)
        self.fc = nn.Linear(128, 100)

    def forward(self, x):
        x = torch.relu(self.stem(x))
        x = torch.relu(self.mid(x))
        x = torch.relu(self.top(x))
        return self.fc(x.mean((2, 3)))


net = Net().cuda()
probe = Probe(net, ["stem", "mid", "top"])
opt = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
for epoch in range(4):
    for it in range(100):
        x = torch.randn(32, 3, 160, 160, device="cuda")
        y = torch.zeros(32, dtype=torch.long, device="cuda")
        loss = nn.functional.cross_entropy(net(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
    print("epoch", epoch, flush=True)
