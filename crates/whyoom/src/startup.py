"""Runs first in every Python program that whyoom starts with something to watch (as `sitecustomize`).

What is watched stands behind this in the same file: its `install(torch)` is called once torch has been
imported.
"""

import importlib.abc
import importlib.machinery
import importlib.util
import os
import sys


def harmless(function):
    """What goes wrong here must not become the program's trouble."""

    def guarded(*arguments):
        try:
            return function(*arguments)
        except Exception as error:  # noqa: BLE001
            print(f"whyoom: {function.__name__}: {error!r}", file=sys.stderr)

    return guarded


class ModuleFinder(importlib.abc.MetaPathFinder):
    """Waits for a module to be imported, and does something behind it."""

    name = None

    def __init__(self):
        self.searching = False

    def find_spec(self, name, path=None, target=None):
        # Programs also ask where a module is without importing it.
        if name != self.name or self.searching:
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
            harmless(self.imported)(module)

        spec.loader.exec_module = exec_module
        return spec


class TorchFinder(ModuleFinder):
    name = "torch"

    def imported(self, torch):
        install(torch)


def make_private(path):
    """A new, empty file that nobody else may read, whatever the umask; what had its name is gone."""
    if os.path.lexists(path):
        os.unlink(path)
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    return path


def run_the_other_sitecustomize():
    """This file stands before one that the environment may have of its own, or another of whyoom's."""
    ran = sys.__dict__.setdefault("_whyoom_startup", set())
    ran.add(os.path.dirname(os.path.abspath(__file__)))
    elsewhere = [entry for entry in sys.path if os.path.abspath(entry) not in ran]
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", elsewhere)
    if spec is not None and spec.loader is not None:
        spec.loader.exec_module(importlib.util.module_from_spec(spec))


sys.meta_path.insert(0, TorchFinder())
