"""Attention through cuDNN: forward and backward, memory that grows with the length, not its square."""

import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

from models import report

BATCH, HEADS, WIDTH = 2, 8, 64


def peak(length: int, kind: torch.dtype) -> int:
    parts = [torch.randn(BATCH, HEADS, length, WIDTH).to("cuda", kind) for _ in range(3)]
    queries, keys, values = (part.requires_grad_() for part in parts)
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    with sdpa_kernel(SDPBackend.CUDNN_ATTENTION):
        mixed = F.scaled_dot_product_attention(queries, keys, values, is_causal=True)
        name = type(mixed.grad_fn).__name__
        assert name == "ScaledDotProductCudnnAttentionBackward0", f"by {name}"
        mixed.sum().backward()
    assert queries.grad.shape == queries.shape, "no gradient"
    return torch.cuda.max_memory_allocated() - before


def main() -> None:
    sizes = {}
    for kind in (torch.bfloat16, torch.float16):
        short, long = peak(512, kind), peak(2048, kind)
        assert 3.5 < long / short < 4.5, f"four times the length took {long / short:.2f} times"
        sizes[str(kind)] = [short, long]
    report({"peaks": sizes})


if __name__ == "__main__":
    main()
