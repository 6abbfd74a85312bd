"""What the package is made of, and what it leaves alone."""

import subprocess
import sys
import timeit
import unittest
from pathlib import Path

import whyoom

from places import has


class Package(unittest.TestCase):
    def test_it_is_the_installed_one_and_typed(self):
        folder = Path(whyoom.__file__).parent
        self.assertTrue((folder / "py.typed").is_file())
        self.assertNotEqual(folder, Path(__file__).resolve().parents[1] / "whyoom")

    def test_the_module_is_the_command(self):
        asked = subprocess.run(
            [sys.executable, "-m", "whyoom", "--version"], stdout=subprocess.PIPE, universal_newlines=True, check=True
        )
        self.assertRegex(asked.stdout, r"^whyoom \d+\.\d+\.\d+")

    def test_it_ends_as_the_command_does(self):
        asked = subprocess.run([sys.executable, "-m", "whyoom", "nonsense"], stderr=subprocess.DEVNULL, check=False)
        self.assertEqual(asked.returncode, 2)

    def test_torch_is_not_imported(self):
        script = "import sys, whyoom; whyoom.mark('x'); sys.exit('torch' in sys.modules)"
        subprocess.run([sys.executable, "-c", script], check=True)

    def test_a_mark_that_nobody_records_costs_nothing(self):
        turns = 100_000
        best = min(timeit.repeat(lambda: whyoom.mark("step", iteration=True), number=turns, repeat=5))
        self.assertLess(best / turns, 1e-6)

    @unittest.skipIf(has("torch"), "torch is here")
    def test_without_torch_it_is_said_what_to_do(self):
        with self.assertRaisesRegex(whyoom.WhyoomError, "torch is not installed.*whyoom run"):
            with whyoom.record():
                pass


if __name__ == "__main__":
    unittest.main()
