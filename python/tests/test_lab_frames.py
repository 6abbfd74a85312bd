"""Frames that the lab adds to a program's stacks, with a module in place of torch."""

import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

SOURCES = Path(__file__).resolve().parents[2] / "crates" / "whyoom" / "src"
TORCH = """
bool = uint8 = int8 = int16 = int32 = int64 = None
class cuda:
    @staticmethod
    def _lazy_call(start): pass
"""
PROGRAM = """
import torch
import sitecustomize

def fails():
    raise MemoryError

small = sitecustomize.SmallValues(torch)
small.as_library(fails)()
"""


class Frames(unittest.TestCase):
    def test_a_traceback_names_the_lab_and_shows_no_line_of_torch(self):
        startup = "\n\n".join((SOURCES / name).read_text() for name in ("startup.py", "lab/startup.py"))
        with tempfile.TemporaryDirectory() as folder:
            packages = Path(folder, "site-packages")
            (packages / "torch").mkdir(parents=True)
            (packages / "torch" / "__init__.py").write_text(TORCH)
            (packages / "torch" / "library.py").write_text("an_unrelated_line\n" * 50)
            (packages / "sitecustomize.py").write_text(startup)
            told = subprocess.run(
                [sys.executable, "-c", PROGRAM],
                env={**os.environ, "PYTHONPATH": str(packages)},
                capture_output=True,
                text=True,
                check=False,
            ).stderr
            frame = f'File "{packages / "torch" / "<whyoom lab>.py"}", line'
        self.assertIn(frame, told)
        self.assertNotIn("unrelated", told)


if __name__ == "__main__":
    unittest.main()
