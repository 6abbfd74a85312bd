"""Recording from inside a program, by PyTorch's own history: for notebooks, and for code that somebody
else starts. `whyoom run` sees more, and needs no change to the program.
"""

import contextlib
import os
import sys
import time
from pathlib import Path
from types import TracebackType
from typing import Any, Optional, Type, Union

from . import _recordings as recordings
from ._errors import WhyoomError
from ._marks import annotate_with, mark, recording_folder
from ._verdict import Verdict, why

# A longer history is kept from its end. An entry takes some KB of the host's memory at worst.
MAX_ENTRIES = 1_000_000

_under_way: Optional["Recording"] = None


class Recording:
    """A stretch of the program whose GPU memory is recorded: the value of `with whyoom.record()`."""

    path: str
    """Where it is: PyTorch's snapshot, or under `whyoom run` the folder of that recording."""

    def __init__(self, path: Optional[Union[str, "os.PathLike[str]"]], max_entries: int) -> None:
        self._folder = recording_folder()
        self._max_entries = max_entries
        self._torch: Any = None
        self._written = False
        self._kept = True
        if self._folder is not None:
            self.path = self._folder
        else:
            self.path = os.fspath(path) if path is not None else _default_path()

    def __enter__(self) -> "Recording":
        global _under_way
        if self._folder is not None:
            mark("whyoom.record")
            return self
        if _under_way is not None:
            raise WhyoomError(f"a recording is already in progress, into {_under_way.path}: stop that one first")
        self._torch = _torch_with_cuda()
        _check_writable(self.path)
        self._keep_history()
        _under_way = self
        recordings.write_snapshot = self._write_snapshot
        return self

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        global _under_way
        if self._folder is not None:
            mark("whyoom.record ended")
            return
        _under_way = None
        recordings.write_snapshot = None
        annotate_with(None)
        try:
            self._write_snapshot()
            self._written = True
            if error is not None:
                recordings.ended_by(error, self.path)
        except Exception as trouble:
            # What the program raised matters more than what became of its recording.
            if error is None:
                raise WhyoomError(f"cannot write the snapshot to {self.path}: {trouble}") from trouble
            print(f"whyoom: cannot write the snapshot to {self.path}: {trouble}", file=sys.stderr)
        finally:
            with contextlib.suppress(Exception):
                self._torch.cuda.memory._record_memory_history(enabled=None)
        if self._written and self._kept and error is not None and _is_out_of_memory(self._torch, error):
            print(f"whyoom: CUDA ran out of memory; recorded in {self.path} (whyoom why {self.path})", file=sys.stderr)

    def why(self) -> Verdict:
        """Why memory ran out in it; also that nothing is wrong."""
        self._must_be_there()
        return why(Path(self.path))

    def report(self, path: Union[str, "os.PathLike[str]"]) -> str:
        """Writes the report, one HTML file that opens anywhere; its path."""
        return self.why().report(path)

    def _write_snapshot(self) -> str:
        self._torch.cuda.memory._dump_snapshot(self.path)
        return self.path

    def _must_be_there(self) -> None:
        if self._folder is None and not self._written:
            raise WhyoomError("nothing is recorded yet: call this after the `with whyoom.record():` block")

    def _keep_history(self) -> None:
        memory = self._torch.cuda.memory
        memory._record_memory_history(enabled=None)
        options = {"max_entries": self._max_entries, "stacks": "python"}
        try:
            memory._record_memory_history(**options, clear_history=True, global_record_annotations=True)
            annotate_with(self._torch.autograd.profiler.record_function)
        except TypeError:
            # An older PyTorch, as 2.6 is, whose history has no annotations.
            memory._record_memory_history(**options)


def record(
    path: Optional[Union[str, "os.PathLike[str]"]] = None, *, max_entries: int = MAX_ENTRIES
) -> Recording:
    """Records the GPU memory of a block of code:

        with whyoom.record() as recording:
            train()
        print(recording.why())

    PyTorch keeps a history, whose snapshot is written to `path` (by default whyoom-record-DATE-TIME.pickle
    here) when the block ends, also by an exception, which is passed on. Where the process runs under
    `whyoom run`, which records it all, only marks are made. A history that the program itself keeps
    (`torch.cuda.memory._record_memory_history`) ends here: PyTorch has one.
    """
    return Recording(path, max_entries)


def _default_path() -> str:
    name = time.strftime("whyoom-record-%Y%m%d-%H%M%S")
    path, number = f"{name}.pickle", 1
    while os.path.exists(path):
        number += 1
        path = f"{name}-{number}.pickle"
    return path


def _torch_with_cuda() -> Any:
    try:
        import torch
    except ImportError as error:
        raise WhyoomError(
            "whyoom.record() uses PyTorch's history, but torch is not installed. Without PyTorch, record "
            "the entire program: whyoom run -- python …"
        ) from error
    if not (torch.version.cuda or torch.version.hip):
        raise WhyoomError(
            f"this PyTorch ({torch.__version__}) was built without CUDA and has no GPU memory to record: "
            "install one with CUDA"
        )
    if not torch.cuda.is_available():
        raise WhyoomError(
            "PyTorch finds no GPU here, so there is nothing to record. On a simulated GPU: "
            "whyoom lab run -- python …, or for a notebook: whyoom lab run -- jupyter lab"
        )
    return torch


def _is_out_of_memory(torch: Any, error: BaseException) -> bool:
    return isinstance(error, torch.cuda.OutOfMemoryError) or "out of memory" in str(error)


def _check_writable(path: str) -> None:
    """Before the work, not behind it."""
    folder = os.path.dirname(path) or "."
    if not os.access(folder, os.W_OK | os.X_OK):
        raise WhyoomError(f"{folder} is not a writable folder: pass another path to whyoom.record()")
