"""Compares operators on integers and booleans on the simulated GPU with the processor, bit by bit.

The operators and their arguments are PyTorch's own (OpInfo). Prints how many samples were equal, and for each operator
that was not, how many were not.
"""

import json
import warnings

import torch

warnings.simplefilter("ignore")
from torch.testing._internal.common_methods_invocations import op_db  # noqa: E402

MOST_SAMPLES = 8


def on_gpu(value):
    return value.cuda() if isinstance(value, torch.Tensor) else value


def integers(result):
    results = result if isinstance(result, (list, tuple)) else [result]
    tensors = [one for one in results if isinstance(one, torch.Tensor)]
    return [one for one in tensors if not (one.is_floating_point() or one.is_complex()) and one.layout == torch.strided]


def run(operator, sample):
    return integers(operator(sample.input, *sample.args, **sample.kwargs))


def is_equal(operator, sample, wanted):
    try:
        made = run(operator, sample.transform(on_gpu))
    except Exception:  # noqa: BLE001
        return False
    pairs = zip(wanted, made)
    return len(wanted) == len(made) and all(
        one.shape == other.shape and torch.equal(one.cpu(), other.cpu()) for one, other in pairs
    )


torch.zeros(1, device="cuda")
equal, unequal = 0, {}
for operator in op_db:
    for dtype in (torch.int64, torch.bool):
        if dtype not in operator.supported_dtypes("cuda") or dtype not in operator.supported_dtypes("cpu"):
            continue
        for sample in list(operator.sample_inputs("cpu", dtype, requires_grad=False))[:MOST_SAMPLES]:
            try:
                wanted = run(operator, sample)
            except Exception:  # noqa: BLE001
                continue
            if not wanted:
                continue
            if is_equal(operator, sample, wanted):
                equal += 1
            else:
                unequal[operator.name] = unequal.get(operator.name, 0) + 1
print(json.dumps({"equal": equal, "unequal": unequal}))
