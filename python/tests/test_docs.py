"""The examples of docs/python.md, run as written, one after the other."""

import contextlib
import io
import os
import re
import shutil
import tempfile
import unittest

from places import FIXTURES, give_back, has_cuda

PAGE = FIXTURES.parents[1] / "docs" / "python.md"
BLOCK = re.compile(r"^```python( gpu)?\n(.*?)^```$", re.MULTILINE | re.DOTALL)


class Examples(unittest.TestCase):
    def test_they_run(self):
        blocks = BLOCK.findall(PAGE.read_text(encoding="utf-8"))
        self.assertGreaterEqual(len(blocks), 5)
        names = {}
        self.addCleanup(give_back)
        self.addCleanup(names.clear)
        with tempfile.TemporaryDirectory() as folder:
            shutil.copytree(str(FIXTURES / "snapshots"), os.path.join(folder, "tests", "fixtures", "snapshots"))
            here = os.getcwd()
            os.chdir(folder)
            try:
                for needs_gpu, code in blocks:
                    if not needs_gpu or has_cuda():
                        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
                            exec(compile(code, str(PAGE), "exec"), names)
            finally:
                os.chdir(here)


if __name__ == "__main__":
    unittest.main()
