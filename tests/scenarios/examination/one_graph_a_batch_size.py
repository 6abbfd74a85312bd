"""An inference server that captures a CUDA graph for each batch size that it may meet, each with
memory of its own, and then scores a long prompt without a graph.
True: what the graphs' pools keep for their intermediate results, nobody else may use."""

import json

import torch
from torch import nn

SIZES = (32, 64, 96, 128, 160, 192)
LENGTH, WIDTH = 128, 1024


def network():
    layers = [nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH))]
    return nn.Sequential(*layers).cuda().half()


def capture(model, size):
    inputs = torch.zeros(size, LENGTH, WIDTH, dtype=torch.half, device="cuda")
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        outputs = model(inputs)
    return graph, inputs, outputs


def report(_device, _asked, _total, _free):
    private = [s for s in torch.cuda.memory_snapshot() if tuple(s["segment_pool_id"]) != (0, 0)]
    free = sum(segment["total_size"] - segment["allocated_size"] for segment in private)
    print(json.dumps({"bytes": free}), flush=True)


@torch.no_grad()
def main():
    torch._C._cuda_attach_out_of_memory_observer(report)
    model = network()
    model(torch.zeros(1, LENGTH, WIDTH, dtype=torch.half, device="cuda"))
    graphs = {}
    for size in reversed(SIZES):
        graphs[size] = capture(model, size)
    print("captured", len(graphs), "graphs,", torch.cuda.memory_reserved() >> 20, "MiB", flush=True)
    long_prompt = torch.zeros(1, 40_000, WIDTH, dtype=torch.half, device="cuda")
    print("scored", tuple(model(long_prompt).shape))


if __name__ == "__main__":
    main()
