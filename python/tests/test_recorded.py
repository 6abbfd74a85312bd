"""whyoom.why(error) with the recording of the same process. PyTorch is played by a module that writes a snapshot."""

import os
import shutil
import sys
import tempfile
import types
import unittest
from unittest import mock

import whyoom
from whyoom import _recordings

from places import FIXTURES

GROWTH = FIXTURES / "snapshots" / "growth-oom.pickle"
MESSAGE = (
    "CUDA out of memory. Tried to allocate 64.00 MiB. GPU 0 has a total capacity of 4.00 GiB of which 16.00 MiB is "
    "free. Including non-PyTorch memory, this process has 3.98 GiB memory in use. Of the allocated memory 3.90 GiB is "
    "allocated by PyTorch, and 40.00 MiB is reserved by PyTorch but unallocated."
)


class OutOfMemoryError(RuntimeError):
    pass


def torch_that_leaks() -> types.ModuleType:
    """Returns a module with the functions of torch that whyoom.record() calls."""
    torch = types.ModuleType("torch")
    memory = types.SimpleNamespace(
        _record_memory_history=lambda **options: None,
        _dump_snapshot=lambda path: shutil.copy(GROWTH, path),
    )
    torch.version = types.SimpleNamespace(cuda="13.0", hip=None)
    torch.cuda = types.SimpleNamespace(memory=memory, is_available=lambda: True, OutOfMemoryError=OutOfMemoryError)
    torch.autograd = types.SimpleNamespace(profiler=types.SimpleNamespace(record_function=None))
    return torch


class Recorded(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = os.path.join(folder.name, "run.pickle")
        patch = mock.patch.dict(sys.modules, {"torch": torch_that_leaks()})
        patch.start()
        self.addCleanup(patch.stop)

    def test_a_message_alone_does_not_show_the_leak(self):
        self.assertNotEqual(whyoom.why(OutOfMemoryError(MESSAGE)).cause, "growth")

    def test_inside_a_recording(self):
        with whyoom.record(self.path) as recording:
            try:
                raise OutOfMemoryError(MESSAGE)
            except OutOfMemoryError as error:
                verdict = whyoom.why(error)
        self.assertEqual((verdict.cause, recording.why().cause), ("growth", "growth"))

    def test_after_the_recording_that_it_ended(self):
        try:
            with whyoom.record(self.path):
                raise OutOfMemoryError(MESSAGE)
        except OutOfMemoryError as error:
            verdict = whyoom.why(error)
            os.remove(self.path)
            self.assertEqual(whyoom.why(error).cause, whyoom.why(MESSAGE).cause, "the file is gone")
        self.assertEqual(verdict.cause, "growth")
        self.assertIn("error[growth]", str(verdict), "the text is that of the recording, too")

    def test_an_error_from_elsewhere_is_judged_alone(self):
        with whyoom.record(self.path):
            pass
        self.assertNotEqual(whyoom.why(OutOfMemoryError(MESSAGE)).cause, "growth")

    def test_under_whyoom_run(self):
        with mock.patch.object(_recordings, "recording_folder", lambda: str(GROWTH)):
            self.assertEqual(whyoom.why(OutOfMemoryError(MESSAGE)).cause, "growth")


if __name__ == "__main__":
    unittest.main()
