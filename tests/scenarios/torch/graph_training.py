"""A whole training step in a graph, and a model whose calls are graphs."""

import sys

import torch

from models import report

MIB = 1 << 20


def model() -> torch.nn.Module:
    torch.manual_seed(0)
    layers = [torch.nn.Linear(1024, 4096), torch.nn.ReLU(), torch.nn.Linear(4096, 1024)]
    return torch.nn.Sequential(*layers).cuda()


def whole_step() -> dict:
    """Forward, backward and optimizer captured once, replayed without another allocation."""
    network = model()
    optimizer = torch.optim.AdamW(network.parameters(), lr=1e-3, capturable=True)
    data = torch.randn(256, 1024, device="cuda")
    target = torch.randn(256, 1024, device="cuda")

    def step() -> torch.Tensor:
        optimizer.zero_grad(set_to_none=True)
        loss = torch.nn.functional.mse_loss(network(data), target)
        loss.backward()
        optimizer.step()
        return loss

    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            step()
    torch.cuda.current_stream().wait_stream(side)

    graph = torch.cuda.CUDAGraph()
    optimizer.zero_grad(set_to_none=True)
    with torch.cuda.graph(graph):
        step()
    allocated = torch.cuda.memory_allocated()
    allocations = torch.cuda.memory_stats()["allocation.all.allocated"]
    for _ in range(5):
        data.copy_(torch.randn(256, 1024))
        graph.replay()
    torch.cuda.synchronize()
    stats = torch.cuda.memory_stats()
    grown = stats["allocation.all.allocated"] - allocations
    assert torch.cuda.memory_allocated() == allocated, "replays allocate nothing"
    assert grown == 0, f"{grown} allocations in five replays"
    return {"allocated": allocated, "reserved": torch.cuda.memory_reserved()}


def graphed_callable() -> dict:
    network = model()
    sample = torch.randn(64, 1024, device="cuda", requires_grad=True)
    graphed = torch.cuda.make_graphed_callables(network, (sample,))
    reserved = torch.cuda.memory_reserved()
    for _ in range(3):
        output = graphed(torch.randn(64, 1024, device="cuda", requires_grad=True))
        output.sum().backward()
    torch.cuda.synchronize()
    assert output.shape == (64, 1024)
    return {"graphed_reserved": reserved}


def pool_backend() -> dict:
    """With cudaMallocAsync, allocations in a capture are nodes of the graph."""
    # The code is loaded before, so that memory for it is not among the figures.
    outside = torch.empty(256 * MIB, dtype=torch.uint8, device="cuda")
    warm, graph = torch.cuda.CUDAGraph(), torch.cuda.CUDAGraph()
    with torch.cuda.graph(warm):
        outside.fill_(1)
    torch.cuda.synchronize()
    free = torch.cuda.mem_get_info()[0]
    with torch.cuda.graph(graph):
        inside = torch.empty(256 * MIB, dtype=torch.uint8, device="cuda")
        gone = torch.empty(256 * MIB, dtype=torch.uint8, device="cuda")
        del gone
        inside.fill_(1)
    assert torch.cuda.mem_get_info()[0] == free, "a capture takes no memory"
    graph.replay()
    torch.cuda.synchronize()
    taken = free - torch.cuda.mem_get_info()[0]
    assert taken == 512 * MIB, f"the launch took {taken}"
    graph.replay()
    torch.cuda.synchronize()
    assert free - torch.cuda.mem_get_info()[0] == taken, "the next launch takes no more"
    return {"taken": taken}


def main(backend: str) -> None:
    torch.cuda.init()
    if backend == "async":
        report(pool_backend())
    else:
        report({**whole_step(), **graphed_callable()})


if __name__ == "__main__":
    main(sys.argv[1])
