"""An LSTM through cuDNN: what it keeps grows with the sequence, weights do not."""

import torch
from torch import nn

from models import report

BATCH, WIDTH = 32, 256


def activations(model: nn.LSTM, length: int) -> int:
    """Bytes that a forward pass of this length adds at most, then gives back."""
    before = torch.cuda.memory_allocated()
    torch.cuda.reset_peak_memory_stats()
    inputs = torch.randn(length, BATCH, WIDTH).to("cuda")
    outputs, (hidden, cell) = model(inputs)
    assert type(outputs.grad_fn).__name__ == "CudnnRnnBackward0", f"by {outputs.grad_fn}"
    assert outputs.shape == (length, BATCH, WIDTH), f"outputs have shape {tuple(outputs.shape)}"
    assert hidden.shape == cell.shape == (2, BATCH, WIDTH), f"state is {tuple(hidden.shape)}"
    outputs.sum().backward()
    model.zero_grad(set_to_none=True)
    del inputs, outputs, hidden, cell
    after = torch.cuda.memory_allocated()
    assert after == before, f"{after - before} bytes are left of a pass of length {length}"
    return torch.cuda.max_memory_allocated() - before


def main() -> None:
    model = nn.LSTM(WIDTH, WIDTH, num_layers=2).to("cuda")
    # The first pass also creates the BLAS workspaces, which stay.
    model(torch.zeros(1, BATCH, WIDTH, device="cuda"))[0].sum().backward()
    model.zero_grad(set_to_none=True)
    short, long = activations(model, 16), activations(model, 64)
    ratio = long / short
    assert 2 < ratio < 4.5, f"four times the length took {ratio:.2f} times the bytes"
    report(
        {
            "bytes_length_16": short,
            "bytes_length_64": long,
            "ratio": round(ratio, 3),
            "peak_reserved": torch.cuda.max_memory_reserved(),
        }
    )


if __name__ == "__main__":
    main()
