"""Where the program says that it is."""

import os
from typing import Any, Callable, Optional

FOLDER_VARIABLE = "WHYOOM_RECORDING"

# What PyTorch's history calls marks; the importer of snapshots has the same words.
ITERATION = "whyoom iteration: "
PHASE = "whyoom phase: "


def _recorder() -> Optional[Callable[[int, bytes], int]]:
    """The function of `whyoom run`'s recorder, where it is in this process: it was loaded before Python."""
    if not os.environ.get(FOLDER_VARIABLE):
        return None
    import ctypes

    try:
        function = ctypes.CDLL(None).whyoom_recorder_mark
    except (AttributeError, OSError):
        return None
    function.argtypes = [ctypes.c_uint32, ctypes.c_char_p]
    function.restype = ctypes.c_uint32
    return function


# Who is told of marks: whyoom run's recorder, and PyTorch's history while whyoom.record() keeps one.
_recorded = _recorder()
_annotate: Optional[Callable[[str], Any]] = None


def mark(name: str = "", *, iteration: bool = False) -> None:
    """Says where the program is, for the recording: a phase of this name begins here.

    With `iteration=True` an iteration begins: whatever repeats, such as a training step or a request.
    Growth is then measured from one such mark to the next, and not where whyoom finds repetition itself:

        for step, batch in enumerate(loader):
            whyoom.mark(iteration=True)
            train(batch)

    Costs a microsecond under `whyoom run` and inside `whyoom.record()`, and nothing worth measuring
    elsewhere.
    """
    if _recorded is not None:
        _recorded(0 if iteration else 1, str(name).encode("utf-8", "replace"))
    if _annotate is not None:
        with _annotate((ITERATION if iteration else PHASE) + str(name)):
            pass


def recording_folder() -> Optional[str]:
    """The folder that `whyoom run` records this process into; nothing where it does not."""
    return os.environ.get(FOLDER_VARIABLE) if _recorded is not None else None


def annotate_with(annotate: Optional[Callable[[str], Any]]) -> None:
    """Has marks told to PyTorch's history, or to nobody any more."""
    global _annotate
    _annotate = annotate
