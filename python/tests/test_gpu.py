"""Recording PyTorch on a GPU, which is a simulated one: `whyoom lab run -- python -m unittest …`."""

import contextlib
import inspect
import io
import os
import subprocess
import sys
import tempfile
import textwrap
import unittest

import whyoom

from places import give_back, has_cuda

GROWING = """
    import torch, whyoom
    kept = []
    def train(steps):
        model = torch.nn.Linear(512, 512, device="cuda")
        for step in range(steps):
            # Gradients of two steps are accumulated: without marks, iterations of half the size are found.
            if step % 2 == 0:
                whyoom.mark(f"step {step // 2}", iteration=True)
            output = model(torch.ones(64, 512, device="cuda"))
            output.sum().backward()
            kept.append(torch.empty(1 << 20, device="cuda"))
"""
MIB = 1 << 20


def evidence(verdict, label):
    return [one.value for one in verdict.evidence if one.label.startswith(label)]


@unittest.skipUnless(has_cuda(), "no torch with a GPU")
class OnGpu(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.addCleanup(give_back)
        self.folder = folder.name

    def path(self, name):
        return os.path.join(self.folder, name)

    def run_python(self, script, *before):
        path = self.path("program.py")
        with open(path, "w") as file:
            file.write(textwrap.dedent(script))
        return subprocess.run([*before, sys.executable, path], stderr=subprocess.PIPE, universal_newlines=True, check=False)

    def assert_growth_by_marks(self, verdict):
        self.assertEqual(verdict.cause, "growth", verdict)
        self.assertEqual(evidence(verdict, "iterations detected by"), ["the program's own marks"])
        self.assertAlmostEqual(evidence(verdict, "growth per iteration")[0], 8 * MIB, delta=MIB)

    def test_marks_are_the_iterations_of_whyoom_run(self):
        folder = self.path("run")
        # Backward's threads are at rest when Python ends: one that wants its lock then ends with std::terminate.
        script = GROWING + "    train(60)\n    import time\n    time.sleep(0.5)\n"
        ended = self.run_python(script, sys.executable, "-m", "whyoom", "run", "-o", folder, "--")
        self.assertEqual(ended.returncode, 0, ended.stderr)
        self.assert_growth_by_marks(whyoom.why(folder))

    def test_marks_are_the_iterations_of_record(self):
        import torch

        if "global_record_annotations" not in inspect.signature(torch.cuda.memory._record_memory_history).parameters:
            self.skipTest("this PyTorch's history has no annotations")
        path = self.path("marked.pickle")
        script = GROWING + f"    with whyoom.record({path!r}): train(60)\n"
        ended = self.run_python(script)
        self.assertEqual(ended.returncode, 0, ended.stderr)
        self.assert_growth_by_marks(whyoom.why(path))

    def test_record_only_marks_under_whyoom_run(self):
        folder = self.path("run")
        script = """
            import os, torch, whyoom
            with whyoom.record("not-made.pickle") as recording:
                torch.ones(1 << 20, device="cuda")
            assert recording.path == os.environ["WHYOOM_RECORDING"], recording.path
            assert not os.path.exists("not-made.pickle")
            assert recording.why().json["inputs"][0]["kind"] == "recording"
        """
        ended = self.run_python(script, sys.executable, "-m", "whyoom", "run", "-o", folder, "--")
        self.assertEqual(ended.returncode, 0, ended.stderr)

    def test_what_is_recorded_and_nothing_is_wrong(self):
        import torch

        with whyoom.record(self.path("fine.pickle")) as recording:
            for _ in range(40):
                torch.ones(1 << 20, device="cuda").sum()
            with self.assertRaisesRegex(whyoom.WhyoomError, "after the"):
                recording.why()
        verdict = recording.why()
        self.assertEqual(verdict.cause, "healthy", verdict)
        self.assertIn("<svg", verdict._repr_html_())

    def test_running_out_is_recorded_and_raised(self):
        import torch

        kept = []
        said = io.StringIO()
        with self.assertRaises(torch.cuda.OutOfMemoryError) as raised, contextlib.redirect_stderr(said):
            with whyoom.record(self.path("oom.pickle")) as recording:
                while True:
                    kept.append(torch.empty(256 << 20, dtype=torch.uint8, device="cuda"))
        kept.clear()
        self.assertIn(f"whyoom why {recording.path}", said.getvalue())
        verdict = recording.why()
        self.assertNotIn(verdict.cause, ("healthy", "unknown"), verdict)
        self.assertEqual(verdict.json["incidents"][0]["requested_bytes"], 256 * MIB)
        self.assertTrue(whyoom.why(raised.exception).json["incidents_seen"])
        # Another recording can follow, and the history of the first is not in it.
        with whyoom.record(self.path("next.pickle")) as following:
            torch.ones(1 << 20, device="cuda")
        self.assertEqual(following.why().json["incidents_seen"], 0)

    def test_one_at_a_time(self):
        with whyoom.record(self.path("first.pickle")):
            with self.assertRaisesRegex(whyoom.WhyoomError, "already in progress"):
                with whyoom.record(self.path("second.pickle")):
                    pass

    def test_a_folder_that_is_not_there_is_said_before_the_work(self):
        with self.assertRaisesRegex(whyoom.WhyoomError, "is not a writable folder"):
            with whyoom.record(self.path("none/oom.pickle")):
                self.fail("it was begun")


if __name__ == "__main__":
    unittest.main()
