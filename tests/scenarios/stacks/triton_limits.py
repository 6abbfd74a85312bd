"""Triton kernels that the lab does not compute, or whose end it reports: what the program sees, as JSON."""

import argparse
import json

import torch
import triton
import triton.language as tl


@triton.jit
def count_up(out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, at + 1, mask=at < n)


@triton.jit
def write_behind(out, distance):
    tl.store(out + distance, 1)


@triton.jit
def scale(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at, mask=at < n) * 2.5, mask=at < n)


@triton.jit
def product(a, b, out, N: tl.constexpr):
    row, column = tl.arange(0, N)[:, None], tl.arange(0, N)[None, :]
    result = tl.dot(tl.load(a + row * N + column), tl.load(b + row * N + column))
    tl.store(out + row * N + column, result)


def last(n):
    """The last value that a kernel writes, 0 where it did nothing."""
    out = torch.zeros(n, dtype=torch.int32).cuda()
    count_up[(triton.cdiv(n, 128),)](out, n, BLOCK=128)
    return int(out.cpu()[-1])


def scaled(n):
    x, out = torch.ones(n).cuda(), torch.zeros(n).cuda()
    scale[(triton.cdiv(n, 128),)](x, out, n, BLOCK=128)
    return float(out.cpu()[-1])


def tensor_cores():
    a = torch.ones(32, 32, dtype=torch.float16).cuda()
    out = torch.zeros(32, 32).cuda()
    product[(1,)](a, a, out, N=32)
    return float(out.cpu()[0, 0])


def captured():
    """What a launch writes when its stream is captured, and when the graph is launched."""
    out = torch.zeros(64, dtype=torch.int32).cuda()
    count_up[(1,)](out, 0, BLOCK=128)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        count_up[(1,)](out, 64, BLOCK=128)
    graph.replay()
    return int(out.cpu()[-1])


def beyond():
    """A kernel that writes far behind its tensor."""
    out = torch.zeros(64, dtype=torch.int32).cuda()
    try:
        write_behind[(1,)](out, 1 << 48)
        torch.cuda.synchronize()
    except RuntimeError as error:
        return str(error).splitlines()[0]
    return "nothing"


def compiled():
    """Whether a compiled model trains."""
    model = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.GELU(), torch.nn.LayerNorm(64)).cuda()
    step = torch.compile(model)
    for _ in range(3):
        step(torch.randn(8, 64).cuda()).sum().backward()
    torch.cuda.synchronize()
    return list(model[0].weight.grad.shape)


PARTS = {
    "small": lambda: last(1000),
    "large": lambda: last(1 << 20),
    "small floats": lambda: scaled(1000),
    "large floats": lambda: scaled(1 << 20),
    "tensor cores": tensor_cores,
    "captured": captured,
    "compiled": compiled,
    "beyond": beyond,
}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--part", choices=PARTS, action="append")
    parts = parser.parse_args().part or PARTS
    print(json.dumps({part: PARTS[part]() for part in parts}))


if __name__ == "__main__":
    main()
