"""The magic in a notebook that Jupyter's own client runs. WHYOOM_NOTEBOOK_HTML keeps the page."""

import os
import tempfile
import unittest

from places import FRAGMENTED, has, has_cuda

CELLS = [
    "%load_ext whyoom",
    "import torch, whyoom",
    """%%whyoom
kept = [torch.zeros(16 << 20, device="cuda") for _ in range(20)]
for step in range(30):
    torch.zeros(8 << 20, device="cuda")
len(kept)""",
    f"%whyoom why {FRAGMENTED}",
    """%%whyoom -o kept.pickle
while True:
    kept.append(torch.zeros(32 << 20, device="cuda"))""",
    """import sys
whyoom.why(sys.last_value)""",
]


@unittest.skipUnless(has("nbclient") and has("ipykernel"), "no nbclient, no ipykernel")
@unittest.skipUnless(has_cuda(), "no torch with a GPU")
class Notebook(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        import nbformat
        from nbclient import NotebookClient

        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = folder.name
        notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in CELLS])
        NotebookClient(notebook, timeout=120, allow_errors=True, resources={"metadata": {"path": cls.folder}}).execute()
        cls.cells = notebook.cells
        if os.environ.get("WHYOOM_NOTEBOOK_HTML"):
            from nbconvert import HTMLExporter

            page, _ = HTMLExporter().from_notebook_node(notebook)
            with open(os.environ["WHYOOM_NOTEBOOK_HTML"], "w") as file:
                file.write(page)

    def html(self, cell):
        shown = [one.data.get("text/html", "") for one in self.cells[cell].outputs if "data" in one]
        return "".join(shown)

    def errors(self, cell):
        return [one.ename for one in self.cells[cell].outputs if one.output_type == "error"]

    def test_a_cell_that_is_fine_shows_that_with_a_chart_and_its_value(self):
        self.assertEqual(self.errors(2), [])
        self.assertIn("(healthy)", self.html(2))
        self.assertIn("<svg", self.html(2))
        results = [one for one in self.cells[2].outputs if one.output_type == "execute_result"]
        self.assertEqual(results[0].data["text/plain"], "20")

    def test_why_shows_a_verdict(self):
        self.assertEqual(self.errors(3), [])
        self.assertIn("(fragmented-cache)", self.html(3))

    def test_a_cell_that_runs_out_shows_why_and_fails_as_it_would(self):
        self.assertEqual(self.errors(4), ["OutOfMemoryError"])
        self.assertIn("out of memory", self.html(4))
        self.assertNotIn("(healthy)", self.html(4))
        self.assertTrue(os.path.isfile(os.path.join(self.folder, "kept.pickle")))

    def test_the_error_can_be_asked_about_later(self):
        self.assertEqual(self.errors(5), [])
        self.assertIn("<div", self.html(5))


if __name__ == "__main__":
    unittest.main()
