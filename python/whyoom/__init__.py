"""whyoom: why did CUDA run out of memory?

- `whyoom.why(source)`: the verdict on a recording, a snapshot, a log, a text or an exception.
- `with whyoom.record() as recording:` records a block of code, for notebooks and code that others start.
- `whyoom.mark("eval")`, `whyoom.mark(iteration=True)`: the program says where it is.
- `%load_ext whyoom` in a notebook, then `%%whyoom` above a cell.
- `whyoom.pool`: GPU memory for PyTorch from whyoom's pool.

`python -m whyoom` is the command `whyoom`. Nothing here imports torch before it is needed.
"""

from typing import Any

from ._errors import WhyoomError
from ._marks import mark
from ._record import Recording, record
from ._verdict import CallSite, Evidence, Remedy, Verdict, why

__all__ = [
    "CallSite",
    "Evidence",
    "Recording",
    "Remedy",
    "Verdict",
    "WhyoomError",
    "mark",
    "record",
    "why",
]


def __getattr__(name: str) -> str:
    if name == "__version__":
        from importlib.metadata import version

        return version("whyoom")
    raise AttributeError(f"module 'whyoom' has no attribute '{name}'")


def load_ipython_extension(shell: Any) -> None:
    """`%load_ext whyoom`."""
    from . import _ipython

    _ipython.load(shell)
