"""What torch would end the program for under the pool, and what can be left out instead.

The program goes on without it, and its user is told, once each.
"""

import os
import sys

HISTORY = (
    "PyTorch's own history is not kept under the pool: whyoom run records the pool's blocks instead"
)
REFUSED = {
    "_cuda_record_memory_history": HISTORY,
    "_cuda_record_memory_history_legacy": HISTORY,
    "_cuda_attach_out_of_memory_observer": "PyTorch's out-of-memory observers are not called "
    "under the pool",
    "_cuda_changeCurrentAllocator": "the program's own allocator is not used: PyTorch's memory "
    "comes from the pool",
}
# PyTorch's search for the fastest convolution asks its allocator how large a workspace may be, and an
# allocator that is not its own cannot be asked.
BENCHMARK = "torch.backends.cudnn.benchmark stays off under the pool"


def install(torch):
    for name, line in REFUSED.items():
        if hasattr(torch._C, name):
            setattr(torch._C, name, refused(line))
    refuse_benchmark(torch)
    use_first_nccl()


def refused(line):
    said = []

    def refuse(*_, **__):
        if not said:
            said.append(True)
            print(f"whyoom: {line}", file=sys.stderr)

    return refuse


def refuse_benchmark(torch):
    if not hasattr(torch._C, "_set_cudnn_benchmark"):
        return
    tell, switch = refused(BENCHMARK), torch._C._set_cudnn_benchmark

    def set_benchmark(wanted):
        if wanted:
            tell()
        switch(False)

    set_benchmark(torch._C._get_cudnn_benchmark())
    torch._C._set_cudnn_benchmark = set_benchmark
    # torch.backends.cudnn.benchmark has kept the function that it was made with.
    flag = vars(type(torch.backends.cudnn)).get("benchmark")
    if hasattr(flag, "setter"):
        flag.setter = set_benchmark


def use_first_nccl():
    """NCCL by PyTorch's first backend for it.

    The second, which is the default in 2.15, asks the allocator for a snapshot as soon as it connects. It
    does so in C++, where nothing can answer, and the process ends.
    """
    os.environ.setdefault("TORCH_DIST_USE_NCCL2", "0")
    distributed = sys.modules.get("torch.distributed.distributed_c10d")
    # What chooses the backend may have looked at the environment already.
    choose = getattr(distributed, "_register_builtin_nccl_backend", None)
    if choose is not None and distributed.is_nccl_available():
        choose()
