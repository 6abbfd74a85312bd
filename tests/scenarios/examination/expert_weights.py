"""Loads a mixture of experts, layer by layer: each layer's weights are converted to the layout
that the kernels want, first gate and up, then down. The converted down weights go into the block
that the raw gate and up weights left, and keep the rest of it from being used.
True: what is left over in these segments would hold the next layer."""

import json

import torch

LAYERS = 12
UP, DOWN = 138 << 20, 70 << 20  # bytes of a layer, 8-bit weights


def convert(raw):
    return torch.empty_like(raw).copy_(raw.flip(0))


def load(layers):
    weights = []
    for _ in range(layers):
        raw = torch.empty(UP, dtype=torch.uint8, device="cuda")
        weights.append(convert(raw))
        del raw
        raw = torch.empty(DOWN, dtype=torch.uint8, device="cuda")
        weights.append(convert(raw))
        del raw
    return weights


def report(_device, _asked, _total, _free):
    stats = torch.cuda.memory_stats()
    free = stats["reserved_bytes.large_pool.current"] - stats["allocated_bytes.large_pool.current"]
    print(json.dumps({"bytes": free}), flush=True)


def main():
    torch._C._cuda_attach_out_of_memory_observer(report)
    weights = load(LAYERS)
    print(len(weights), "weights,", torch.cuda.memory_reserved() >> 20, "MiB")


if __name__ == "__main__":
    main()
