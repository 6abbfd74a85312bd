"""A captured step, and a loop that keeps its outputs. True: 400 MiB are free in the graph's pool, of no use to the
loop; what the loop keeps is more than 500 MiB."""

import json

import torch

MIB = 1 << 20


def tensor(size: int) -> torch.Tensor:
    return torch.empty(size * MIB, dtype=torch.uint8, device="cuda")


def main() -> None:
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        hidden = tensor(400)
        result = hidden[:MIB].clone()
        del hidden
    outputs = []
    for _ in range(70):
        graph.replay()
        output = tensor(10)
        output[:MIB] = result
        outputs.append(output)
        print(json.dumps({"bytes": len(outputs) * 10 * MIB}), flush=True)
    print("outputs:", len(outputs))


if __name__ == "__main__":
    main()
