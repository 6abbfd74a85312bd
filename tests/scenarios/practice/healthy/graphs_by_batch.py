"""A server captures one CUDA graph for each of eight batch sizes before it opens, all in one pool, and
then only replays them."""

import torch
from torch import nn


@torch.no_grad()
def main() -> None:
    model = nn.Sequential(nn.Linear(1024, 4096), nn.GELU(), nn.Linear(4096, 1024)).cuda().eval()
    places, graphs, pool = {}, {}, torch.cuda.graph_pool_handle()
    for size in reversed([1, 2, 4, 8, 16, 64, 256, 1024]):
        places[size] = torch.zeros(size, 1024, device="cuda")
        model(places[size])
        graphs[size] = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graphs[size], pool=pool):
            model(places[size])
    for request in range(200):
        size = list(graphs)[request % len(graphs)]
        places[size].copy_(torch.zeros(size, 1024))
        graphs[size].replay()
    print("graphs", len(graphs))


main()
