"""What the tests are about."""

import gc
import importlib.util
import sys
from pathlib import Path

FIXTURES = Path(__file__).resolve().parents[2] / "tests" / "fixtures"
FRAGMENTED = FIXTURES / "snapshots" / "fragmented-oom.pickle"
HEALTHY = FIXTURES / "snapshots" / "healthy.pickle"
OTHER_PROCESS = FIXTURES / "logs" / "other-process.log"


def has(module: str) -> bool:
    """Whether it could be imported; it is not."""
    return importlib.util.find_spec(module) is not None


def give_back() -> None:
    """Leaves the GPU to the programs that other tests start."""
    gc.collect()
    if "torch" in sys.modules:
        sys.modules["torch"].cuda.empty_cache()


def has_cuda() -> bool:
    """Whether PyTorch is here, with a GPU, simulated or not."""
    if not has("torch"):
        return False
    import torch

    return torch.cuda.is_available()
