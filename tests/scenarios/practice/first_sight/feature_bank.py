# contrastive training with a kNN evaluation after each epoch
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Crops(Dataset):
    def __len__(self):
        return 960

    def __getitem__(self, i):
        return torch.zeros(3, 64, 64), i % 10


encoder = nn.Sequential(
    nn.Conv2d(3, 64, 3, 2, 1), nn.ReLU(),
    nn.Conv2d(64, 128, 3, 2, 1), nn.ReLU(),
    nn.Conv2d(128, 2800, 3, 1, 1),
).cuda()
head = nn.Linear(2800, 128).cuda()
opt = torch.optim.AdamW([*encoder.parameters(), *head.parameters()], lr=3e-4)
loader = DataLoader(Crops(), batch_size=32, shuffle=True, pin_memory=True)


@torch.no_grad()
def knn_eval():
    bank, labels = [], []
    for x, y in loader:
        bank.append(encoder(x.cuda(non_blocking=True)))     # maps, pooled below at three scales
        labels.append(y.cuda(non_blocking=True))
    for scale in (1, 2, 4):
        pooled = torch.cat([nn.functional.adaptive_avg_pool2d(b, scale).flatten(1)[:, :2800] for b in bank])
        sim = pooled @ pooled.T
        sim.topk(20, dim=1)
    return len(bank)


for epoch in range(5):
    for x, _ in loader:
        x = x.cuda(non_blocking=True)
        z1, z2 = (head(encoder(v).mean((2, 3))) for v in (x[:4], x[:4].flip(-1)))
        loss = -(z1 * z2).sum(1).mean()
        opt.zero_grad(set_to_none=True)
        loss.backward()
        opt.step()
    n = knn_eval()
    print(f"epoch {epoch}: {n} batches in the bank, "
          f"{torch.cuda.max_memory_allocated() >> 20} MiB at most", flush=True)
