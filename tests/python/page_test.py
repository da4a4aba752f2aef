"""What docs/python.md shows: it runs, and has types."""

import contextlib
import io
import os
import re
import shutil
import subprocess
import sys
import unittest

from support import package, program

# What ONNX Runtime, tqdm and protobuf say of their types is not ours.
CONFIG = """[mypy]
[mypy-onnxruntime.*,tqdm.*,google.*,pandas.*,fsspec.*]
ignore_missing_imports = True
"""
PAGE = program.ROOT / "docs" / "python.md"


def blocks(text):
    return re.findall(r"^```python\n(.*?)^```", text, re.M | re.S)


class DocsTest(program.ProgramTest):
    def setUp(self):
        super().setUp()
        self.code = "\n".join(blocks(PAGE.read_text()))
        shutil.copy(program.ROOT / "examples" / "bert.onnx", self.folder)

    def test_the_examples_run(self):
        before = os.getcwd()
        os.chdir(self.folder)
        self.addCleanup(os.chdir, before)
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            exec(compile(self.code, str(PAGE), "exec"), {})
        self.assertIn("<ruleengine.Result for ort", said.getvalue())
        self.assertIn("Coverage(found=2, fused=2", said.getvalue())
        self.assertIn("No such file or directory", said.getvalue())
        self.run_ok("exec", "bert.standard.onnx", "--random")

    def test_types(self):
        """The package, and what uses it as the page does."""
        path = self.write("example.py", self.code)
        done = subprocess.run(
            [sys.executable, "-m", "mypy", "--config-file",
             program.ROOT / "pyproject.toml", "--cache-dir",
             self.folder / "cache", "-p", "ruleengine"],
            cwd=program.ROOT / "bindings" / "python", capture_output=True,
            text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        done = subprocess.run(
            [sys.executable, "-m", "mypy", "--strict", "--config-file",
             self.write("mypy.ini", CONFIG), "--cache-dir",
             self.folder / "cache", path], cwd=self.folder,
            env={**os.environ, "MYPYPATH": str(package.FOLDER)},
            capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_the_stub_of_the_module_is_complete(self):
        from ruleengine import _native
        stub = (program.ROOT / "bindings/python/ruleengine/_native.pyi"
                ).read_text()
        for name, its in vars(_native).items():
            if name.startswith("_"):
                continue
            self.assertTrue(re.search(rf"^(class |def )?{name}\b", stub, re.M),
                            name)
            if isinstance(its, type):
                part = re.search(rf"^class {name}:\n((?:    .*\n|\n)+)", stub,
                                 re.M)[1]
                for member in vars(its):
                    if not member.startswith("_"):
                        self.assertTrue(
                            re.search(rf"def {member}\(|{member}:", part),
                            f"{name}.{member}")


class NotebookTest(unittest.TestCase):
    def test_models_and_results(self):
        result = package.ruleengine.rewrite(package.attention(),
                                            target="onnx", verify=True)
        page = result._repr_html_()
        for part in ("<b>8 nodes became", "compose_batched_attention",
                     "verified on", "<iframe", "&lt;svg", "before and after"):
            self.assertTrue(part in page, part)
        self.assertTrue(result.before._repr_svg_().startswith("<svg"))
        self.assertIsNone(result.before._repr_html_())

    def test_without_graphviz(self):
        path = os.environ["PATH"]
        os.environ["PATH"] = "/nowhere"
        self.addCleanup(os.environ.__setitem__, "PATH", path)
        result = package.ruleengine.rewrite(package.attention())
        self.assertIsNone(result.before._repr_svg_())
        self.assertIn("MatMul", result.before._repr_html_())
        self.assertIn("became", result._repr_html_())

    def test_names_are_escaped(self):
        model = package.attention()
        model.graph.input[0].name = "<script>"
        for node in model.graph.node:
            for i, name in enumerate(node.input):
                if name == "x":
                    node.input[i] = "<script>"
        result = package.ruleengine.rewrite(model)
        self.assertNotIn("<script>", result._repr_html_())
        self.assertNotIn("<script>", package.ruleengine._show.contents(
            result.after))


if __name__ == "__main__":
    unittest.main()
