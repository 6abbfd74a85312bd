"""whyoom.why: what it takes, what it answers, and what it says when it cannot."""

import dataclasses
import os
import pickle
import shutil
import tempfile
import unittest
from unittest import mock

import whyoom

from places import FRAGMENTED, HEALTHY, OTHER_PROCESS

MESSAGE = (
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of "
    "23.64 GiB of which 1.13 GiB is free. Process 4242 has 14.20 GiB memory in use. Including non-PyTorch "
    "memory, this process has 8.30 GiB memory in use. Of the allocated memory 7.52 GiB is allocated by PyTorch, "
    "and 270.00 MiB is reserved by PyTorch but unallocated."
)


class Sources(unittest.TestCase):
    def test_a_path(self):
        for path in (FRAGMENTED, str(FRAGMENTED)):
            self.assertEqual(whyoom.why(path).cause, "fragmented-cache")

    def test_a_text_is_told_from_a_path(self):
        self.assertEqual(whyoom.why(MESSAGE).cause, "other-process")
        self.assertEqual(whyoom.why(OTHER_PROCESS.read_text()).cause, whyoom.why(OTHER_PROCESS).cause)

    def test_an_exception(self):
        try:
            raise RuntimeError(MESSAGE)
        except RuntimeError as error:
            verdict = whyoom.why(error)
        self.assertEqual(verdict.cause, "other-process")

    def test_advice_that_the_environment_follows_is_not_given_again(self):
        message = (
            "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of "
            "23.64 GiB of which 1.13 GiB is free. Including non-PyTorch memory, this process has 22.50 GiB memory "
            "in use. Of the allocated memory 12.00 GiB is allocated by PyTorch, and 10.00 GiB is reserved by "
            "PyTorch but unallocated."
        )

        def pasted() -> list:
            return [remedy.paste or "" for remedy in whyoom.why(RuntimeError(message)).remedies]

        with mock.patch.dict(os.environ):
            os.environ.pop("PYTORCH_CUDA_ALLOC_CONF", None)
            self.assertTrue(any("expandable_segments" in line for line in pasted()), pasted())
            os.environ["PYTORCH_CUDA_ALLOC_CONF"] = "expandable_segments:True"
            self.assertFalse(any("expandable_segments" in line for line in pasted()), pasted())

    def test_several_together(self):
        verdict = whyoom.why(FRAGMENTED, MESSAGE)
        self.assertEqual([one["kind"] for one in verdict.json["inputs"]], ["pytorch-snapshot", "text"])

    def test_a_file_that_begins_with_a_dash(self):
        with tempfile.TemporaryDirectory() as folder:
            here = os.getcwd()
            os.chdir(folder)
            try:
                with open("-j", "w") as file:
                    file.write(MESSAGE)
                self.assertEqual(whyoom.why("-j").cause, "other-process")
            finally:
                os.chdir(here)


class Answers(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.verdict = whyoom.why(FRAGMENTED)

    def test_the_object(self):
        verdict = self.verdict
        self.assertIn("free in PyTorch's cache", verdict.headline)
        self.assertTrue(verdict.because)
        self.assertGreater(verdict.gives_back_bytes, 0)
        self.assertIn("expandable_segments:True", verdict.remedies[0].paste)
        self.assertFalse(verdict.remedies[0].proved, "its history ends with the failure")
        self.assertTrue(any(one.unit == "bytes" and one.value > 0 for one in verdict.evidence))
        self.assertEqual(verdict.json["schema"], "whyoom.why")
        with self.assertRaises(dataclasses.FrozenInstanceError):
            verdict.cause = "another"

    def test_str_is_what_the_terminal_shows(self):
        self.assertTrue(str(self.verdict).startswith("error[fragmented-cache]: "), str(self.verdict))
        self.assertNotIn("\x1b", str(self.verdict))

    def test_repr_is_the_text(self):
        self.assertEqual(repr(self.verdict), str(self.verdict))
        printed = []
        self.verdict._repr_pretty_(mock.Mock(text=printed.append), False)
        self.assertEqual(printed, [str(self.verdict)])

    def test_repr_does_not_fail_when_the_file_is_gone(self):
        with tempfile.TemporaryDirectory() as folder:
            path = shutil.copy(FRAGMENTED, folder)
            verdict = whyoom.why(path)
        self.assertTrue(repr(verdict).startswith("fragmented-cache: "), repr(verdict))

    def test_html_has_the_verdict_and_a_chart(self):
        html = self.verdict._repr_html_()
        self.assertIn("expandable_segments:True", html)
        self.assertIn("<svg", html)
        self.assertIn("out of memory", html)
        self.assertNotIn("<script", html)
        self.assertLess(len(html), 30_000)

    def test_html_of_a_text_has_no_chart_and_no_foreign_markup(self):
        html = whyoom.why(MESSAGE + " <script>alert(1)</script>")._repr_html_()
        self.assertNotIn("<svg", html)
        self.assertNotIn("<script", html)

    def test_a_report_is_written(self):
        with tempfile.TemporaryDirectory() as folder:
            for number, verdict in enumerate((self.verdict, whyoom.why(MESSAGE))):
                path = verdict.report(os.path.join(folder, f"{number}.html"))
                with open(path, encoding="utf-8") as file:
                    self.assertIn("</html>", file.read())

    def test_nothing_is_wrong_is_an_answer(self):
        self.assertEqual(whyoom.why(HEALTHY).cause, "healthy")

    def test_it_can_be_sent_to_another_process(self):
        self.assertEqual(pickle.loads(pickle.dumps(self.verdict)).cause, "fragmented-cache")


class Errors(unittest.TestCase):
    def assert_says(self, words, *sources):
        with self.assertRaises(whyoom.WhyoomError) as raised:
            whyoom.why(*sources)
        for word in words:
            self.assertIn(word, str(raised.exception))

    def test_no_such_file(self):
        self.assert_says(["no-such.pickle"], "no-such.pickle")

    def test_a_misspelt_file(self):
        with tempfile.TemporaryDirectory() as folder:
            shutil.copy(FRAGMENTED, os.path.join(folder, "ok.pickle"))
            self.assert_says(["ok.pikle", "did you mean", "ok.pickle"], os.path.join(folder, "ok.pikle"))

    def test_an_empty_text(self):
        for source in ("", "  ", "\n"):
            self.assert_says(["the text is empty"], source)

    def test_a_name_that_no_file_has(self):
        self.assert_says(["no path"], "a\0b")

    def test_no_source(self):
        with self.assertRaises(TypeError):
            whyoom.why()

    def test_the_command_is_missing(self):
        with mock.patch.dict(os.environ, {"WHYOOM_COMMAND": "/no/such/whyoom"}):
            self.assert_says(["/no/such/whyoom", "pip install"], FRAGMENTED)

    def test_the_command_is_for_another_machine(self):
        with tempfile.NamedTemporaryFile("wb", suffix="-whyoom") as file:
            # An ELF of a machine that there is none of.
            file.write(b"\x7fELF\x02\x01\x01" + bytes(9) + b"\x02\x00\xff\x00" + bytes(44))
            file.flush()
            os.chmod(file.name, 0o755)
            copy = file.name + "-copy"
            with open(file.name, "rb") as whole, open(copy, "wb") as target:
                target.write(whole.read())
            os.chmod(copy, 0o755)
            self.addCleanup(os.remove, copy)
            with mock.patch.dict(os.environ, {"WHYOOM_COMMAND": copy}):
                self.assert_says(["for another platform"], FRAGMENTED)


if __name__ == "__main__":
    unittest.main()
