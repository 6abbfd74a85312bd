import copy
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

ACCUM = 4
D = 2048
layers = nn.ModuleList(nn.TransformerEncoderLayer(D, 16, 4 * D, batch_first=True, dropout=0.0, device="cuda")
                       for _ in range(3))
ema = copy.deepcopy(layers).requires_grad_(False)
params = list(layers.parameters())
opt = torch.optim.AdamW(params, lr=1e-4)
copy_stream = torch.cuda.Stream()


def fetch():
    host = torch.zeros(4, 256, D, pin_memory=True)
    with torch.cuda.stream(copy_stream):
        return host.to("cuda", non_blocking=True)


def forward(x):
    for layer in layers:
        x = checkpoint(layer, x, use_reentrant=False)
    return x


nxt = fetch()
history = []
for step in range(6):
    for micro in range(ACCUM):
        torch.cuda.current_stream().wait_stream(copy_stream)
        x, nxt = nxt, fetch()
        x.record_stream(torch.cuda.current_stream())
        loss = forward(x).pow(2).mean() / ACCUM
        loss.backward()
        history.append(loss.detach())
    nn.utils.clip_grad_norm_(params, 1.0)
    opt.step()
    opt.zero_grad(set_to_none=True)
    with torch.no_grad():
        torch._foreach_lerp_(list(ema.parameters()), params, 0.001)
    if step % 3 == 2:
        snapshot = copy.deepcopy(ema).cpu()
        torch.cuda.empty_cache()
        del snapshot
    print("step", step, len(history), torch.cuda.max_memory_reserved() >> 20, flush=True)
