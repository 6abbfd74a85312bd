"""The magic of notebooks: `%load_ext whyoom`, then `%%whyoom` above a cell."""

import argparse
import ast
import os
import shlex
import tempfile
from typing import Any, Optional

from ._errors import WhyoomError
from ._record import record
from ._verdict import run, why

USAGE = """%%whyoom [-o FILE] above a cell records it and shows why memory ran out, if it did; -o keeps
the snapshot. %whyoom why PATH… shows the verdict of recordings, snapshots and logs; any other command of
whyoom prints what it prints."""


def load(shell: Any) -> None:
    """Makes `%whyoom` and `%%whyoom` known."""

    def whyoom(line: str, cell: Optional[str] = None) -> Any:
        __tracebackhide__ = True
        if cell is None:
            return command(line)
        return recorded_cell(shell, line, cell)

    whyoom.__doc__ = USAGE
    shell.register_magic_function(whyoom, magic_kind="line_cell", magic_name="whyoom")


def command(line: str) -> Any:
    """`%whyoom why PATH…` is a verdict, which the notebook shows; other commands print."""
    words = shlex.split(line)
    if words[:1] == ["why"] and words[1:] and not any(word.startswith("-") for word in words):
        return why(*words[1:])
    print(run(words) if words else USAGE)
    return None


def recorded_cell(shell: Any, line: str, cell: str) -> Any:
    """Runs a cell and shows the verdict below what it printed. What it raises is raised."""
    __tracebackhide__ = True
    from IPython.display import display

    path = _keep_at(line)
    with tempfile.TemporaryDirectory(prefix="whyoom-") as folder:
        recording = record(path or os.path.join(folder, "cell.pickle"))
        recording._kept = path is not None
        try:
            with recording:
                return _run(shell, cell)
        finally:
            try:
                verdict = recording.why()
                # The terminal's text is asked for while the snapshot is there.
                str(verdict)
                display(verdict)
            except WhyoomError as error:
                print(f"whyoom: {error}")


def _keep_at(line: str) -> Optional[str]:
    parser = argparse.ArgumentParser(prog="%%whyoom", description=USAGE, add_help=False)
    parser.add_argument("-o", "--output", metavar="FILE")
    try:
        output: Optional[str] = parser.parse_args(shlex.split(line)).output
    except SystemExit:
        raise WhyoomError(USAGE) from None
    return output


def _run(shell: Any, cell: str) -> Any:
    """Runs a cell as IPython would: the value of its last expression comes back."""
    __tracebackhide__ = True
    code = shell.transform_cell(cell)
    # IPython knows its lines by this name, for tracebacks. (When its own count moves on depends on the version.)
    number = len(shell.user_ns.get("In", ())) - 1
    name = shell.compile.cache(code, number, raw_code=cell)
    body = ast.parse(code, name).body
    last = body.pop() if body and isinstance(body[-1], ast.Expr) and not _is_quiet(code) else None
    exec(compile(ast.Module(body, []), name, "exec"), shell.user_ns)
    if last is not None:
        return eval(compile(ast.Expression(last.value), name, "eval"), shell.user_ns)
    return None


def _is_quiet(code: str) -> bool:
    return code.rstrip().endswith(";")
