"""A prefetcher that reads buffers on a stream of its own."""

import torch

GIB = 1 << 30


def buffer(gib):
    return torch.empty(int(gib * GIB), dtype=torch.uint8, device="cuda")


def main():
    warm_up = buffer(6)
    del warm_up
    index = buffer(0.5)
    batch = buffer(5)
    table = buffer(1)
    reader = torch.cuda.Stream()
    with torch.cuda.stream(reader):
        batch[:1024].add_(1)
    batch.record_stream(reader)
    del batch
    # The reader still works.
    batch = buffer(5)
    print(index.numel() + table.numel() + batch.numel())


main()
