"""GPU memory for PyTorch from whyoom's pool, in two lines before the first tensor on a GPU:

    import whyoom.pool
    whyoom.pool.enable()

`whyoom run --pool -- python train.py` does the same without them. torch.cuda's memory functions answer
from the pool then; what stays refused is listed in docs/pool.md.
"""

import os
import sys
from typing import Any

from ._errors import WhyoomError

# The setters of torch's pluggable allocator, and the functions of the library that they are given.
HOOKS = {
    "set_init_fn": "whyoom_torch_init",
    "set_reset_fn": "whyoom_torch_reset",
    "set_memory_fraction_fn": "whyoom_torch_fraction",
    "set_base_alloc_fn": "whyoom_torch_base",
    "set_record_stream_fn": "whyoom_torch_record_stream",
    "set_begin_allocate_to_pool": "whyoom_torch_begin",
    "set_end_allocate_to_pool_fn": "whyoom_torch_end",
    "set_release_pool": "whyoom_torch_release",
}

# The allocator that torch uses, from `enable` on.
_allocator: Any = None


def enable() -> None:
    """Makes PyTorch take its GPU memory from whyoom's pool, in this process.

    To be called before the first tensor on a GPU; again, it does nothing. With WHYOOM_POOL=off in the
    environment it does nothing either, and where the GPUs are none that the pool can serve it says so in one line
    and leaves PyTorch its own allocator. Raises WhyoomError, a RuntimeError, where it comes too late or cannot be.
    """
    global _allocator
    if _allocator is not None or os.environ.get("WHYOOM_POOL") == "off":
        return
    try:
        import torch
    except ImportError as error:
        raise WhyoomError("whyoom.pool requires PyTorch, but torch is not installed") from error
    if not is_supported(torch):
        raise WhyoomError(
            "whyoom.pool needs a PyTorch that is built with CUDA and supports pluggable allocators"
        )
    from . import _pool_answers, _pool_library

    library = _pool_library.load()
    if torch.cuda.is_initialized():
        raise WhyoomError(TOO_LATE)
    why, said = _pool_library.obstacle(library)
    if why:
        if not said:
            print(f"whyoom: the pool is off: {why}", file=sys.stderr)
        library.whyoom_pool_serve(0)
        return
    allocator = torch.cuda.memory.CUDAPluggableAllocator(
        library._name, "whyoom_torch_alloc", "whyoom_torch_free"
    )
    for setter, function in HOOKS.items():
        if hasattr(allocator._allocator, setter):
            getattr(allocator._allocator, setter)(_pool_library.address(library, function))
    try:
        torch.cuda.memory.change_current_allocator(allocator)
    except RuntimeError as error:
        raise WhyoomError(TOO_LATE) from error
    _allocator = allocator
    # NCCL cannot register blocks that are made of pages (NVIDIA/nccl#1820).
    os.environ.setdefault("NCCL_GRAPH_REGISTER", "0")
    # What is not PyTorch's goes to the driver again, unless the whole process was to be served.
    if os.environ.get("WHYOOM_POOL") != "everything":
        library.whyoom_pool_serve(0)
    _pool_answers.install(torch, _pool_library.Pool(library))


TOO_LATE = (
    "whyoom.pool.enable() is called too late: PyTorch has already used the GPU, or uses another allocator. "
    "Put both lines right after `import torch`, or use: whyoom run --pool -- python ..."
)


def is_supported(torch: Any) -> bool:
    """Whether this PyTorch can have its allocator replaced."""
    return bool(torch.version.cuda) and hasattr(torch._C, "_cuda_customAllocator")
