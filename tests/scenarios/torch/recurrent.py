"""Recurrent networks through cuDNN: their weights in one piece, and what they keep."""

import warnings

import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence

from models import MIB, report

LENGTH, BATCH, WIDTH = 40, 16, 128
KINDS = {
    "one layer": lambda: nn.LSTM(WIDTH, 256),
    "two layers": lambda: nn.LSTM(WIDTH, 256, 2),
    "both ways, dropout": lambda: nn.LSTM(WIDTH, 256, 2, bidirectional=True, dropout=0.3),
    "projected": lambda: nn.LSTM(WIDTH, 256, 2, proj_size=64),
    "no bias": lambda: nn.LSTM(WIDTH, 256, 2, bias=False),
    "small": lambda: nn.LSTM(WIDTH, 64),
    "GRU": lambda: nn.GRU(WIDTH, 256, 2),
    "GRU both ways": lambda: nn.GRU(WIDTH, 256, 2, bidirectional=True),
    "plain": lambda: nn.RNN(WIDTH, 256, 2),
}


def run(name: str, kind: torch.dtype, lengths=None) -> int:
    """The bytes that a forward pass leaves for the backward pass."""
    module = KINDS[name]().to("cuda", kind)
    pieces = {weight.untyped_storage().data_ptr() for weight in module.parameters()}
    assert len(pieces) == 1, f"{name}: the weights are in {len(pieces)} pieces"
    inputs = torch.randn(LENGTH, BATCH, WIDTH).to("cuda", kind)
    if lengths is not None:
        inputs = pack_padded_sequence(inputs, lengths, enforce_sorted=False)
    module(inputs)  # the states of dropout are created here, and stay
    before = torch.cuda.memory_allocated()
    outputs, _ = module(inputs)
    kept = torch.cuda.memory_allocated() - before
    outputs = outputs if lengths is None else outputs.data
    assert type(outputs.grad_fn).__name__ == "CudnnRnnBackward0", f"{name}: {outputs.grad_fn}"
    outputs.sum().backward()
    assert all(weight.grad is not None for weight in module.parameters()), name
    return kept


def published() -> int:
    """Four layers of 320 kept 736,000,000 bytes on a P100 (pytorch/pytorch#2895)."""
    module = nn.LSTM(123, 320, 4).to("cuda")
    inputs = torch.zeros(500, 50, 123, device="cuda")
    before = torch.cuda.memory_allocated()
    outputs, state = module(inputs)
    kept = torch.cuda.memory_allocated() - before
    returned = sum(part.nbytes for part in (outputs, *state))
    del outputs, state
    return kept - returned


def main() -> None:
    warnings.simplefilter("error")
    kept = {name: run(name, torch.float32) for name in KINDS}
    assert 1.9 < kept["GRU both ways"] / kept["GRU"] < 2.1, f"both ways keep {kept}"
    assert kept["two layers"] > 2 * kept["one layer"] - MIB, f"two layers keep {kept}"
    half = run("two layers", torch.float16)
    assert abs(half - kept["two layers"] / 2) < MIB, f"half precision keeps {half}"
    run("two layers", torch.float32, lengths=[LENGTH - number for number in range(BATCH)])
    reserve = published()
    # The initial states, which are zeros and saved too, are the rest.
    assert 0 <= reserve - 736_000_000 < MIB, f"{reserve} bytes, where a P100 kept 736,000,000"
    report({"kept": kept, "half": half, "as_published": reserve})


if __name__ == "__main__":
    main()
