import torch
from torch import nn

staging = torch.cuda.MemPool()


@torch.no_grad()
def build_index(n_shards):
    """Quantise the corpus; all temporaries of this phase go to their own pool."""
    codes = []
    with torch.cuda.use_mem_pool(staging):
        shards = [torch.zeros(60_000, 1024, device="cuda") for _ in range(n_shards)]
        centre = torch.stack([s.mean(0) for s in shards]).mean(0)
        for s in shards:
            codes.append((s - centre).to(torch.int8).cpu())
    return codes


class Tower(nn.Module):
    def __init__(self, width=2048):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(width, width, device="cuda") for _ in range(6))

    def forward(self, x):
        for l in self.layers:
            x = torch.relu(l(x))
        return x


codes = build_index(10)
print("index", len(codes), "shards on the host", flush=True)
tower = Tower()
opt = torch.optim.AdamW(tower.parameters(), lr=1e-4)
for step in range(10):
    q = torch.randn(16384, 2048, device="cuda")
    loss = tower(q).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    print("step", step, flush=True)
