"""The CTC loss through cuDNN: with labels on the host, and on the device."""

import torch
import torch.nn.functional as F

from models import report

STEPS, BATCH, SYMBOLS, LABEL = 50, 16, 20, 10


def loss(device: str) -> int:
    """The most that a forward and a backward pass held."""
    scores = torch.randn(STEPS, BATCH, SYMBOLS).log_softmax(2).to("cuda").requires_grad_()
    labels = torch.randint(1, SYMBOLS, (BATCH * LABEL,), dtype=torch.int32).to(device)
    steps = torch.full((BATCH,), STEPS, dtype=torch.int32).to(device)
    lengths = torch.full((BATCH,), LABEL, dtype=torch.int32).to(device)
    # On the host, the lengths are numbers: PyTorch takes another way for tensors.
    host = device == "cpu"
    sizes = (tuple(steps.tolist()), tuple(lengths.tolist())) if host else (steps, lengths)
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    losses = F.ctc_loss(scores, labels, *sizes, reduction="none")
    assert losses.shape == (BATCH,), f"losses have shape {tuple(losses.shape)}"
    name = type(losses.grad_fn).__name__
    assert name.startswith("CudnnCtcLossBackward"), f"by {name}"
    losses.sum().backward()
    assert scores.grad.shape == scores.shape, "no gradient"
    return torch.cuda.max_memory_allocated() - before


def main() -> None:
    host, device = loss("cpu"), loss("cuda")
    # On the device the labels' lengths are not known, and the longest allowed is provided for.
    assert device > host, f"{device} bytes with labels on the device, {host} on the host"
    report({"labels_on_host": host, "labels_on_device": device})


if __name__ == "__main__":
    main()
