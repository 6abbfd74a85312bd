"""Why memory ran out, as an object."""

import os
import re
import subprocess
import traceback
from dataclasses import dataclass, field
from functools import cached_property
from json import loads
from pathlib import Path
from typing import Any, Dict, List, Optional, Sequence, Tuple, Union

from . import _html
from . import _recordings as recordings
from ._errors import WhyoomError
from ._installation import COMMAND_VARIABLE, command

# What `why` takes: a path, a text, or an exception that was caught.
Source = Union[str, "os.PathLike[str]", BaseException]

# The environment tells which advice has been followed already.
SETTINGS = ("PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_ALLOC_CONF")


@dataclass(frozen=True)
class Remedy:
    """Something that helps."""

    what: str
    """In words."""
    paste: Optional[str]
    """The line to paste, where there is one."""
    proved: bool
    """Whether the program ran with it, or a replay of whole iterations of this run fits."""
    frees_bytes: Optional[int] = None
    """What it gives back, where that is known."""
    example: Optional[str] = None
    """Code to adapt to the program's own names, where there is no line to paste."""


@dataclass(frozen=True)
class CallSite:
    """A line of the program that the verdict is about."""

    call_site: str
    """The file, the line and the function."""
    what: str
    """What it has to do with the cause."""


@dataclass(frozen=True)
class Evidence:
    """A figure that the verdict rests on."""

    label: str
    value: Union[int, float, str]
    unit: str
    """`bytes`, `count`, `share` or `text`."""
    basis: str
    """Where it is from: a `message`, `recorded`, or `computed`."""


@dataclass(frozen=True)
class Verdict:
    """Why memory ran out. `str()` and `repr()` are the text of the terminal; notebooks show it with a chart."""

    cause: str
    """The cause's id, as `whyoom causes` lists them; `healthy` where nothing is wrong."""
    headline: str
    because: str
    """The numbers that show it."""
    gives_back_bytes: Optional[int]
    """What removing the cause would give back."""
    call_sites: List[CallSite]
    """The program's own lines, the most telling first; the request that failed is the last."""
    remedies: List[Remedy]
    evidence: List[Evidence]
    json: Dict[str, Any] = field(repr=False)
    """The whole document: docs/json.md describes it."""
    _inputs: "_Inputs" = field(repr=False, compare=False)

    def __str__(self) -> str:
        return self._text

    def __repr__(self) -> str:
        try:
            return self._text
        except WhyoomError:
            # The file is gone. A debugger still shows what is known.
            return f"{self.cause}: {self.headline}"

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        """Prints the text in IPython, which would quote it otherwise."""
        printer.text(repr(self))

    @cached_property
    def _text(self) -> str:
        return self._inputs.ask("why")

    def report(self, path: Union[str, "os.PathLike[str]"]) -> str:
        """Writes the report, one HTML file that opens anywhere, over any file of that name; its path."""
        self._inputs.ask("report", "--force", "-o", os.fspath(path))
        return os.fspath(path)

    def _repr_html_(self) -> str:
        return _html.verdict(self)


@dataclass(frozen=True)
class _Inputs:
    """What the command is asked about."""

    paths: Tuple[str, ...]
    text: Optional[str]

    def ask(self, *arguments: str) -> str:
        words = [*arguments, *self.paths]
        if self.text is not None:
            words.append("-")
        return run(words, self.text)


def why(*sources: Source) -> Verdict:
    """Says why memory ran out.

    A source is the path of a recording, a snapshot or a log; a text, such as a pasted traceback; or an
    exception that was caught. Several are judged together:

        whyoom.why("oom.pickle")
        whyoom.why("rank0.pickle", "rank1.pickle")
        whyoom.why("CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has …")
        try: train()
        except torch.cuda.OutOfMemoryError as error: print(whyoom.why(error))

    An exception is judged with the recording of this process, if there is one: that of `whyoom.record()`
    or of `whyoom run`.

    Raises WhyoomError where a source cannot be read. That nothing is wrong, or that nothing can be told
    yet, is a verdict and no error.
    """
    if not sources:
        raise TypeError("whyoom.why() needs a path, a text or an exception")
    inputs = _inputs_of(sources)
    try:
        document = loads(inputs.ask("why", "--json", "--timeline"))
    except WhyoomError:
        # The recording of this process may be gone or unfinished: then the message is judged alone.
        alone = _inputs_of(sources, with_recording=False)
        if alone == inputs:
            raise
        inputs, document = alone, loads(alone.ask("why", "--json", "--timeline"))
    verdict = _verdict_of(document, inputs)
    if any(isinstance(source, BaseException) for source in sources):
        # A recording in progress changes: the text is asked for while it is the one that was judged.
        repr(verdict)
    return verdict


def _verdict_of(document: Dict[str, Any], inputs: _Inputs) -> Verdict:
    found = document["verdict"]
    return Verdict(
        cause=found["cause"],
        headline=found["headline"],
        because=found["because"],
        gives_back_bytes=found["gives_back_bytes"],
        call_sites=[CallSite(one["call_site"], one["what"]) for one in found["call_sites"]],
        remedies=[_remedy(one) for one in found["remedies"]],
        evidence=[_evidence(one) for one in found["evidence"]],
        json=document,
        _inputs=inputs,
    )


def run(words: Sequence[str], text: Optional[str] = None) -> str:
    """What the command prints."""
    path = command()
    try:
        # Text that is no UTF-8 is a log's business, not ours.
        answer = subprocess.run(
            [path, *words],
            input=None if text is None else text.encode("utf-8", "replace"),
            stdin=subprocess.DEVNULL if text is None else None,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            check=False,
            env=_environment(),
        )
    except ValueError as error:
        # The name of no file has a NUL in it.
        raise WhyoomError(f"this is no path: {error}") from error
    except OSError as error:
        raise WhyoomError(
            f"{path} cannot be run ({error.strerror}): this wheel may be for another platform; "
            f"pip install --force-reinstall whyoom, or set {COMMAND_VARIABLE} to the right one"
        ) from error
    if answer.returncode != 0:
        said = answer.stderr.decode("utf-8", "replace").strip()
        prefix = "whyoom: "
        raise WhyoomError(said[len(prefix) :] if said.startswith(prefix) else said)
    return answer.stdout.decode("utf-8", "replace")


def _environment() -> Dict[str, str]:
    # The command is not the program: it is neither recorded nor on the simulated GPU. Its text has no colours.
    left_out = ("LD_PRELOAD", "CLICOLOR_FORCE", "FORCE_COLOR")
    return {name: value for name, value in os.environ.items() if name not in left_out}


def _inputs_of(sources: Sequence[Source], with_recording: bool = True) -> _Inputs:
    paths, texts = [], []
    for source in sources:
        if isinstance(source, BaseException):
            texts.append(_text_of(source))
            if with_recording:
                paths.extend(recordings.path_for(source))
        elif isinstance(source, str) and _is_text(source):
            texts.append(source)
        else:
            path = os.fsdecode(source)
            if not path.strip():
                raise WhyoomError("the text is empty: pass the message, an exception or the path of a file")
            # A name that begins with a dash is no option.
            paths.append(f"./{path}" if path.startswith("-") else path)
    # An exception and its recording may both be sources.
    return _Inputs(tuple(dict.fromkeys(paths)), "\n".join(texts) if texts else None)


def _is_text(source: str) -> bool:
    """Whether it is what somebody pasted, not a path."""
    if "\n" in source.strip():
        return True
    if _exists(source):
        return False
    return " " in source.strip() and not re.search(r"\.\w{1,8}$", source)


def _exists(path: str) -> bool:
    try:
        return Path(path).exists()
    except (OSError, ValueError):
        return False


def _text_of(error: BaseException) -> str:
    lines = traceback.format_exception(type(error), error, error.__traceback__)
    settings = [f"{name}={os.environ[name]}\n" for name in SETTINGS if os.environ.get(name)]
    return "".join([*settings, *lines])


def _remedy(found: Dict[str, Any]) -> Remedy:
    return Remedy(
        what=found["what"],
        paste=found["paste"],
        proved=found["proved"],
        frees_bytes=found["frees_bytes"],
        example=found["example"],
    )


def _evidence(found: Dict[str, Any]) -> Evidence:
    unit = next(unit for unit in ("bytes", "count", "share", "text") if unit in found)
    return Evidence(found["label"], found[unit], unit, found["basis"])
