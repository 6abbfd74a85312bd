"""An inference step is warmed up on a side stream, captured into a CUDA graph and replayed. The graph
keeps the memory of its intermediates for the next replay: that is how graphs work."""

import torch
from torch import nn


@torch.no_grad()
def main() -> None:
    model = nn.Sequential(nn.Linear(2048, 8192), nn.GELU(), nn.Linear(8192, 2048)).cuda().eval()
    place = torch.zeros(512, 2048, device="cuda")
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            model(place)
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        result = model(place)
    for _ in range(200):
        place.copy_(torch.randn(512, 2048))
        graph.replay()
    print("replayed", tuple(result.shape))


main()
