"""Runs Triton kernels on random inputs, on the simulated GPU or by Triton's own interpreter.

`--save FILE` keeps the results; `--compare FILE` prints how they differ from those of another run, as JSON.
"""

import argparse
import json
import os

import torch
import triton
import triton.language as tl

DEVICE = "cpu" if os.environ.get("TRITON_INTERPRET") == "1" else "cuda"


@triton.jit
def add(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    within = at < n
    tl.store(out + at, tl.load(x + at, mask=within) + tl.load(y + at, mask=within), mask=within)


@triton.jit
def masked(x, flags, out, n, other, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    chosen = (at < n) & (tl.load(flags + at, mask=at < n, other=0) != 0)
    value = tl.load(x + at, mask=chosen, other=other)
    tl.store(out + at, value * value - 3, mask=(at < n) & (value > -2))


@triton.jit
def row_sums(x, sums, largest, places, columns, BLOCK: tl.constexpr):
    row, at = tl.program_id(0), tl.arange(0, BLOCK)
    value = tl.load(x + row * columns + at, mask=at < columns, other=0)
    tl.store(sums + row, tl.sum(value, axis=0))
    value = tl.where(at < columns, value, -2147483648)
    tl.store(largest + row, tl.max(value, axis=0))
    tl.store(places + row, tl.argmax(value, axis=0))


@triton.jit
def float_sums(x, sums, columns, BLOCK: tl.constexpr):
    row, at = tl.program_id(0), tl.arange(0, BLOCK)
    tl.store(sums + row, tl.sum(tl.load(x + row * columns + at, mask=at < columns, other=0.0), axis=0))


@triton.jit
def softmax(x, out, columns, BLOCK: tl.constexpr):
    row, at = tl.program_id(0), tl.arange(0, BLOCK)
    value = tl.load(x + row * columns + at, mask=at < columns, other=-float("inf"))
    power = tl.exp(value - tl.max(value, axis=0))
    tl.store(out + row * columns + at, power / tl.sum(power, axis=0), mask=at < columns)


@triton.jit
def running_sums(x, out, columns, BLOCK: tl.constexpr):
    row, at = tl.program_id(0), tl.arange(0, BLOCK)
    value = tl.load(x + row * columns + at, mask=at < columns, other=0)
    tl.store(out + row * columns + at, tl.cumsum(value, axis=0), mask=at < columns)


@triton.jit
def histogram(x, counts, total, n, bins, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + at, mask=at < n, other=0)
    tl.atomic_add(counts + value % bins, 1, mask=at < n)
    tl.atomic_max(total, tl.max(value, axis=0))


@triton.jit
def next_tokens(lengths, tables, slots, positions, finished, limit, blocks, PAGE: tl.constexpr):
    """Bookkeeping as engines do it: where each sequence's next token goes, and which have ended."""
    sequence = tl.program_id(0)
    length = tl.load(lengths + sequence)
    page = tl.load(tables + sequence * blocks + length // PAGE)
    tl.store(slots + sequence, page.to(tl.int64) * PAGE + length % PAGE)
    tl.store(positions + sequence, length.to(tl.int64))
    ends = length + 1 >= limit
    tl.store(finished + sequence, ends)
    if not ends:
        tl.store(lengths + sequence, length + 1)


@triton.jit
def multiply(a, b, out, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    """Outer products one after the other, in the order of K, without tensor cores."""
    m, n = tl.arange(0, M), tl.arange(0, N)
    total = tl.zeros((M, N), dtype=tl.float32)
    for k in range(K):
        total += tl.load(a + m * K + k)[:, None] * tl.load(b + k * N + n)[None, :]
    tl.store(out + m[:, None] * N + n[None, :], total)


@triton.jit
def steps(x, out, rounds, n, BLOCK: tl.constexpr):
    """A loop whose length each program reads; Collatz steps, so that lanes differ."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + at, mask=at < n, other=1)
    for _ in range(tl.load(rounds + tl.program_id(0))):
        value = tl.where(value % 2 == 0, value // 2, value * 3 + 1)
    tl.store(out + at, value, mask=at < n)


@triton.jit
def gather(table, index, out, columns, rows, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    row = tl.load(index + at // columns, mask=at < n, other=0)
    row = tl.where(row < 0, row + rows, row)
    tl.store(out + at, tl.load(table + row * columns + at % columns, mask=at < n), mask=at < n)


@triton.jit
def narrow(x, half, brain, whole, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + at, mask=at < n, other=0.0)
    tl.store(half + at, value.to(tl.float16), mask=at < n)
    tl.store(brain + at, value.to(tl.bfloat16), mask=at < n)
    tl.store(whole + at, value.to(tl.int32), mask=at < n)


@triton.jit
def wide(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a, b = tl.load(x + at, mask=at < n, other=0), tl.load(y + at, mask=at < n, other=1)
    value = (a * b) ^ (a >> 3) | (b << 5)
    tl.store(out + at, value // b + a % b + tl.abs(a) - tl.minimum(a, b), mask=at < n)


def ceiling(n, block):
    return ((n + block - 1) // block,)


class Inputs:
    """Random inputs, the same for both runs."""

    def __init__(self, seed):
        self.random = torch.Generator().manual_seed(seed)

    def size(self, least, most):
        return int(torch.randint(least, most + 1, (), generator=self.random))

    def floats(self, *shape):
        return torch.randn(*shape, generator=self.random)

    def whole(self, least, most, *shape, dtype=torch.int32):
        return torch.randint(least, most, shape, generator=self.random).to(dtype)


def place(*tensors):
    return [tensor.to(DEVICE) for tensor in tensors]


def run_add(inputs):
    n = inputs.size(1, 700)
    x, y, out = place(inputs.floats(n), inputs.floats(n), torch.zeros(n))
    add[ceiling(n, 128)](x, y, out, n, BLOCK=128)
    return [out]


def run_masked(inputs):
    n = inputs.size(1, 600)
    x, flags = inputs.whole(-9, 9, n), inputs.whole(0, 2, n, dtype=torch.int8)
    x, flags, out = place(x, flags, torch.full((n,), 77, dtype=torch.int32))
    masked[ceiling(n, 256)](x, flags, out, n, inputs.size(-4, 4), BLOCK=256)
    return [out]


def run_row_sums(inputs):
    rows, columns = inputs.size(1, 6), inputs.size(1, 300)
    x, *out = place(inputs.whole(-1000, 1000, rows, columns), *torch.zeros(3, rows, dtype=torch.int32))
    row_sums[(rows,)](x, *out, columns, BLOCK=triton.next_power_of_2(columns))
    return out


def run_float_sums(inputs):
    rows, columns = inputs.size(1, 6), inputs.size(1, 600)
    # Without signs nothing cancels out, so that the order of additions shows in the last places only.
    x, out = place(inputs.floats(rows, columns).abs(), torch.zeros(rows))
    float_sums[(rows,)](x, out, columns, BLOCK=triton.next_power_of_2(columns))
    return [out]


def run_softmax(inputs):
    rows, columns = inputs.size(1, 5), inputs.size(1, 400)
    x, out = place(inputs.floats(rows, columns) * 3, torch.zeros(rows, columns))
    softmax[(rows,)](x, out, columns, BLOCK=triton.next_power_of_2(columns))
    return [out]


def run_running_sums(inputs):
    rows, columns = inputs.size(1, 5), inputs.size(1, 300)
    x = inputs.whole(-100, 100, rows, columns)
    x, out = place(x, torch.zeros_like(x))
    running_sums[(rows,)](x, out, columns, BLOCK=triton.next_power_of_2(columns))
    return [out]


def run_histogram(inputs):
    n, bins = inputs.size(1, 900), inputs.size(1, 40)
    x = inputs.whole(0, 10_000, n)
    x, counts, total = place(x, torch.zeros(bins, dtype=torch.int32), torch.zeros(1, dtype=torch.int32))
    histogram[ceiling(n, 128)](x, counts, total, n, bins, BLOCK=128)
    return [counts, total]


def run_next_tokens(inputs):
    batch, blocks = inputs.size(1, 20), 8
    lengths = inputs.whole(0, 16 * blocks, batch)
    tables = inputs.whole(0, 500, batch, blocks)
    slots, positions = torch.zeros(2, batch, dtype=torch.int64)
    finished = torch.zeros(batch, dtype=torch.int8)
    out = place(lengths, tables, slots, positions, finished)
    next_tokens[(batch,)](*out, inputs.size(1, 16 * blocks), blocks, PAGE=16)
    return out


def run_multiply(inputs):
    m, n, k = 16, 2 ** inputs.size(2, 5), inputs.size(1, 20)
    a, b, out = place(inputs.floats(m, k), inputs.floats(k, n), torch.zeros(m, n))
    multiply[(1,)](a, b, out, M=m, N=n, K=k)
    return [out]


def run_steps(inputs):
    n = inputs.size(1, 500)
    grid = ceiling(n, 64)
    x, rounds = inputs.whole(1, 1000, n), inputs.whole(0, 30, grid[0])
    x, rounds, out = place(x, rounds, torch.zeros(n, dtype=torch.int32))
    steps[grid](x, out, rounds, n, BLOCK=64)
    return [out]


def run_gather(inputs):
    rows, columns, picks = inputs.size(1, 30), inputs.size(1, 40), inputs.size(1, 30)
    table, index = inputs.floats(rows, columns), inputs.whole(-rows, rows, picks, dtype=torch.int64)
    table, index, out = place(table, index, torch.zeros(picks, columns))
    n = picks * columns
    gather[ceiling(n, 256)](table, index, out, columns, rows, n, BLOCK=256)
    return [out]


def run_narrow(inputs):
    n = inputs.size(1, 500)
    x = inputs.floats(n) * 10.0 ** inputs.size(-6, 4)
    half, brain = torch.zeros(n, dtype=torch.float16), torch.zeros(n, dtype=torch.bfloat16)
    x, *out = place(x, half, brain, torch.zeros(n, dtype=torch.int32))
    narrow[ceiling(n, 128)](x, *out, n, BLOCK=128)
    if DEVICE == "cpu":
        # Triton's interpreter cuts bits off where the instruction rounds to nearest, as PyTorch does.
        out[1] = x.bfloat16()
    return out


def run_wide(inputs):
    n = inputs.size(1, 500)
    x = inputs.whole(-(2**40), 2**40, n, dtype=torch.int64)
    y = inputs.whole(1, 2**20, n, dtype=torch.int64)
    x, y, out = place(x, y, torch.zeros_like(x))
    wide[ceiling(n, 128)](x, y, out, n, BLOCK=128)
    return [out]


RUNS = {name.removeprefix("run_"): run for name, run in list(globals().items()) if name.startswith("run_")}


def results(rounds, only):
    """The results of each kernel, by its name."""
    found = {}
    for name, run in RUNS.items():
        if only in (None, name):
            inputs = [Inputs(1000 * number + len(name)) for number in range(rounds)]
            found[name] = [[tensor.cpu() for tensor in run(one)] for one in inputs]
    return found


def bits(tensor):
    """A tensor as integers: two are as many apart as there are values between them."""
    whole = {torch.float32: torch.int32, torch.float16: torch.int16, torch.bfloat16: torch.int16}
    if tensor.dtype not in whole:
        return tensor.to(torch.int64)
    value = tensor.view(whole[tensor.dtype]).to(torch.int64)
    lowest = -(2 ** (8 * tensor.element_size() - 1))
    return torch.where(value < 0, lowest - value, value)


def compared(launches, others):
    """How many launches are equal, and how far apart the others are at most, in units of the last place."""
    told = {"launches": len(launches), "equal": 0, "apart": 0}
    for mine, other in zip(launches, others, strict=True):
        apart = max(int((bits(a) - bits(b)).abs().max()) for a, b in zip(mine, other, strict=True))
        told["equal"] += apart == 0
        told["apart"] = max(told["apart"], apart)
    return told


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--only")
    parser.add_argument("--save")
    parser.add_argument("--compare")
    arguments = parser.parse_args()
    found = results(arguments.rounds, arguments.only)
    if arguments.save:
        torch.save(found, arguments.save)
    if arguments.compare:
        other = torch.load(arguments.compare)
        print(json.dumps({name: compared(runs, other[name]) for name, runs in found.items()}))


if __name__ == "__main__":
    main()
