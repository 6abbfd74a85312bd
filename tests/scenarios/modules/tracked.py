"""Runs a program under PyTorch's own MemTracker, for a comparison with what whyoom records of the same run:

    tracked.py STEPS PROGRAM [ARGUMENT…]

After so many steps of its optimizer it prints what MemTracker says, at the peak and then, and what the tensors of each
module take, as their sizes say; then it ends at once, with everything still there.
"""

import json
import os
import runpy
import signal
import sys

import torch
from torch.distributed._tools.mem_tracker import MemTracker
from torch.nn.modules.module import register_module_forward_pre_hook
from torch.optim.optimizer import register_optimizer_step_post_hook

STEPS, PROGRAM = int(sys.argv[1]), sys.argv[2]
roots, steps = [], 0
tracker = MemTracker()


def rounded(bytes):
    """As MemTracker counts: in units of the allocator."""
    return -(-bytes // 512) * 512


def snapshot(which):
    devices = tracker.get_tracker_snapshot(which)
    cuda = [kinds for device, kinds in devices.items() if device.type == "cuda"]
    return {getattr(kind, "value", str(kind)): bytes for kinds in cuda for kind, bytes in kinds.items()}


def of_modules(model, optimizer):
    """Bytes of parameters, gradients and optimizer state by module, each tensor once, in its first module."""
    seen, modules = set(), {}
    for name, module in model.named_modules():
        sums = {"parameters": 0, "gradients": 0, "optimizer state": 0, "rounded": 0}
        for tensor in [*module._parameters.values(), *module._buffers.values()]:
            if tensor is None or id(tensor) in seen or not tensor.is_cuda:
                continue
            seen.add(id(tensor))
            sums["parameters"] += tensor.nbytes
            if tensor.grad is not None:
                sums["gradients"] += tensor.grad.nbytes
            state = optimizer.state.get(tensor, {}).values()
            state = [one for one in state if isinstance(one, torch.Tensor) and one.is_cuda]
            sums["optimizer state"] += sum(one.nbytes for one in state)
            every = [tensor, *state] + ([tensor.grad] if tensor.grad is not None else [])
            sums["rounded"] += sum(rounded(one.nbytes) for one in every)
        if any(sums.values()):
            modules[name] = sums
    return modules


def stepped(optimizer, *_):
    global steps
    steps += 1
    if steps < STEPS:
        tracker.reset_mod_stats()
        return
    model, statistics = roots[0], torch.cuda.memory_stats()
    told = {
        "root": type(model).__name__,
        "peak": snapshot("peak"),
        "current": snapshot("current"),
        "modules": of_modules(model, optimizer),
        "peak_allocated": statistics["allocated_bytes.all.peak"],
        "peak_requested": statistics["requested_bytes.all.peak"],
    }
    print(json.dumps(told), flush=True)
    # Nothing is given back on the way.
    os.kill(os.getpid(), signal.SIGKILL)


register_module_forward_pre_hook(lambda module, _: roots.append(module) if not roots else None)
register_optimizer_step_post_hook(stepped)
sys.argv = sys.argv[2:]
sys.path.insert(0, os.path.dirname(os.path.abspath(PROGRAM)))
with tracker:
    runpy.run_path(PROGRAM, run_name="__main__")
