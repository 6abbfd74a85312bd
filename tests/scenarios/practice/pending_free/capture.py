"""Captures a step that prefetches on a second stream. True: each buffer is freed at once, but record_stream makes
it wait for the other stream, and a capture cannot wait: none of them is used again."""

import json

import torch

MIB = 1 << 20


def main() -> None:
    side, graph = torch.cuda.Stream(), torch.cuda.CUDAGraph()
    total = torch.zeros(MIB, device="cuda")
    with torch.cuda.graph(graph):
        for layer in range(12):
            weights = torch.empty(200 * MIB, dtype=torch.uint8, device="cuda")
            side.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(side):
                total.add_(weights[:MIB])
            weights.record_stream(side)
            del weights
            print(json.dumps({"bytes": (layer + 1) * 200 * MIB}), flush=True)
        torch.cuda.current_stream().wait_stream(side)
    graph.replay()
    print("captured")


if __name__ == "__main__":
    main()
