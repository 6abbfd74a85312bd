"""The recording of this process, for an exception that is to be explained."""

import contextlib
import os
from typing import Callable, List, Optional

from ._marks import recording_folder

# Writes a snapshot of the `whyoom.record()` that is in progress and returns its path. None if there is none.
write_snapshot: Optional[Callable[[], str]] = None

# Where an exception keeps the path of the recording that it ended.
ATTRIBUTE = "_whyoom_recording"


def ended_by(error: BaseException, path: str) -> None:
    """Notes that an exception ended the recording at this path."""
    with contextlib.suppress(Exception):
        setattr(error, ATTRIBUTE, path)


def path_for(error: BaseException) -> List[str]:
    """Returns the path of the recording that an exception was raised in, or nothing if there is none."""
    folder = recording_folder()
    if folder is not None:
        return [folder]
    ended = getattr(error, ATTRIBUTE, None)
    if isinstance(ended, str) and os.path.exists(ended):
        return [ended]
    if write_snapshot is not None:
        # The message alone tells less, but something.
        with contextlib.suppress(Exception):
            return [write_snapshot()]
    return []
