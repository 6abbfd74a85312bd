import torch
from torch import nn

NODES, EDGES, DIM = 60_000, 900_000, 128


class Conv(nn.Module):
    """mean over neighbours of an edge-conditioned message"""

    def __init__(self, dim):
        super().__init__()
        self.msg = nn.Linear(2 * dim, dim)
        self.upd = nn.Linear(2 * dim, dim)

    def forward(self, x, src, dst, deg):
        pair = torch.cat([x[src], x[dst]], dim=-1)
        m = torch.relu(self.msg(pair))
        agg = torch.zeros_like(x).index_add(0, dst, m) / deg
        return torch.relu(self.upd(torch.cat([x, agg], -1)))


class GNN(nn.Module):
    def __init__(self, layers=3):
        super().__init__()
        self.convs = nn.ModuleList(Conv(DIM) for _ in range(layers))
        self.out = nn.Linear(DIM, 40)

    def forward(self, x, src, dst, deg):
        for c in self.convs:
            x = c(x, src, dst, deg)
        return self.out(x)


x = torch.randn(NODES, DIM).cuda()
src = (torch.arange(EDGES) * 7919 % NODES).cuda()
dst = (torch.arange(EDGES) % NODES).cuda()
deg = torch.full((NODES, 1), EDGES / NODES).cuda()
y = torch.zeros(NODES, dtype=torch.long).cuda()
gnn = GNN().cuda()
opt = torch.optim.Adam(gnn.parameters(), lr=1e-2)
for epoch in range(50):
    opt.zero_grad()
    loss = nn.functional.cross_entropy(gnn(x, src, dst, deg), y)
    loss.backward()
    opt.step()
    print("epoch", epoch, flush=True)
