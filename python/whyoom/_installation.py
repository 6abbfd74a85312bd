"""Where the wheel has put what is not Python: the command and the libraries."""

import os
import shutil
import sys
import sysconfig
from pathlib import Path
from typing import Iterator, Optional

from ._errors import WhyoomError

COMMAND_VARIABLE = "WHYOOM_COMMAND"


def command() -> str:
    """The path of the command `whyoom`: the one that was installed with this package."""
    given = os.environ.get(COMMAND_VARIABLE)
    if given:
        return given
    # The package's own installation comes before whatever else is called so.
    name = ("Scripts", "whyoom.exe") if os.name == "nt" else ("bin", "whyoom")
    path = installed(*name) or shutil.which("whyoom")
    if path is None:
        raise WhyoomError(_missing("the command whyoom", COMMAND_VARIABLE))
    return str(path)


def library(name: str, variable: str) -> str:
    """The path of one of whyoom's libraries; the variable of the environment may name another."""
    path = os.environ.get(variable) or installed("lib", "whyoom", name)
    if path is None and not sys.platform.startswith("linux"):
        raise WhyoomError(f"{name} runs on Linux only, and this is {sys.platform}: analyse the file on a Linux machine")
    if path is None:
        raise WhyoomError(_missing(name, variable))
    return str(path)


def installed(*parts: str) -> Optional[Path]:
    """A file that the wheel installed: below the environment that has this package."""
    for folder in _environments():
        path = folder.joinpath(*parts)
        if path.is_file():
            return path
    return None


def _environments() -> Iterator[Path]:
    # ENVIRONMENT/lib/python3.X/site-packages/whyoom, in every scheme but --target, which has no more than
    # the last. Other folders above are not ours, and may be anybody's.
    packages = Path(__file__).resolve().parents[1]
    if packages.name in ("site-packages", "dist-packages"):
        yield packages.parents[min(2, len(packages.parents) - 1)]
    else:
        yield packages
    yield Path(sysconfig.get_path("data"))


def _missing(what: str, variable: str) -> str:
    return (
        f"{what} is not installed next to this package ({Path(__file__).parent}): install the wheel again "
        f"(pip install --force-reinstall whyoom), or set {variable} to its path"
    )
