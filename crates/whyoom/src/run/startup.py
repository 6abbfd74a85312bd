"""Runs first in every Python program that `whyoom run --torch-history` starts (as `sitecustomize`).

Lets PyTorch record its own allocations from its first use of a GPU on, and writes its snapshot when
memory runs out and at the end: PID.pickle in the folder that WHYOOM_TORCH_HISTORY names.
The program itself is not changed.
"""

import importlib.abc
import importlib.machinery
import importlib.util
import os
import sys

FOLDER = os.environ.get("WHYOOM_TORCH_HISTORY")
# A longer history is kept from its end.
MAX_ENTRIES = 1_000_000
# A program that catches its failures may have thousands of them.
MOST_FAILURES = 3


def harmless(function):
    """What goes wrong here must not become the program's trouble."""

    def guarded(*arguments):
        try:
            return function(*arguments)
        except Exception as error:  # noqa: BLE001
            print(f"whyoom run: {function.__name__}: {error!r}", file=sys.stderr)

    return guarded


class History:
    """PyTorch's history of one process."""

    def __init__(self, torch):
        self.torch = torch
        self.pid = None
        self.failures = 0

    def start(self):
        import atexit

        self.pid = os.getpid()
        self.torch.cuda.memory._record_memory_history(max_entries=MAX_ENTRIES, stacks="python")
        self.torch._C._cuda_attach_out_of_memory_observer(self.ran_out)
        atexit.register(harmless(self.dump))

    def ran_out(self, *_):
        self.failures += 1
        if self.failures <= MOST_FAILURES:
            harmless(self.dump)()

    def dump(self):
        # A worker that was forked has the history of its parent.
        if self.pid != os.getpid():
            return
        path = os.path.join(FOLDER, str(self.pid))
        # Written under another name first: a file with the right name is whole.
        self.torch.cuda.memory._dump_snapshot(path + ".part")
        os.rename(path + ".part", path + ".pickle")


class TorchFinder(importlib.abc.MetaPathFinder):
    """Waits for torch to be imported, and installs the history behind it."""

    def __init__(self):
        self.searching = False

    def find_spec(self, name, path=None, target=None):
        # Programs also ask where torch is without importing it.
        if name != "torch" or self.searching:
            return None
        self.searching = True
        try:
            spec = importlib.util.find_spec(name)
        finally:
            self.searching = False
        if spec is None or spec.loader is None:
            return spec
        execute = spec.loader.exec_module

        def exec_module(module):
            if self in sys.meta_path:
                sys.meta_path.remove(self)
            execute(module)
            harmless(install)(module)

        spec.loader.exec_module = exec_module
        return spec


def install(torch):
    if hasattr(torch, "cuda"):
        torch.cuda._lazy_call(harmless(History(torch).start))


def run_the_other_sitecustomize():
    """This file stands before one that the environment may have of its own."""
    here = os.path.dirname(os.path.abspath(__file__))
    elsewhere = [entry for entry in sys.path if os.path.abspath(entry) != here]
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", elsewhere)
    if spec is not None and spec.loader is not None:
        spec.loader.exec_module(importlib.util.module_from_spec(spec))


if FOLDER:
    sys.meta_path.insert(0, TorchFinder())
run_the_other_sitecustomize()
