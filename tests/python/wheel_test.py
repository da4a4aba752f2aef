"""The wheel: built as a user does, and run without the tree."""

import os
import pathlib
import subprocess
import sys
import zipfile

from support import package, program

CODE = """
import ruleengine, sys
result = ruleengine.rewrite("m.onnx", output="mine.onnx", target="onnx")
print(ruleengine.__file__, sum(r.rewrites for r in result.report.rules))
"""


class WheelTest(program.ProgramTest):
    def run_it(self, *command, **options):
        done = subprocess.run(
            [*map(str, command)], cwd=self.folder, capture_output=True,
            text=True, stdin=subprocess.DEVNULL, check=False, **options)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def test_a_wheel(self):
        # The wheel of the source archive.
        self.run_it(sys.executable, "-m", "build", "-o", "w", program.ROOT)
        pip = (sys.executable, "-m", "pip", "--disable-pip-version-check")
        [wheel] = (self.folder / "w").glob("ruleengine-*.whl")
        names = zipfile.ZipFile(wheel).namelist()
        for name in ("py.typed", "_native.pyi", "bin/ruleengine",
                     "share/ruleengine/rules/attention.lua",
                     "share/ruleengine/docs/language.md",
                     "share/ruleengine/lua/ruleengine.lua"):
            self.assertIn(f"ruleengine/{name}", names)
        self.assertFalse([n for n in names if "test" in n or ".cc" in n])
        bundled = [n for n in names if "/lib/" in n and ".so" in n]
        self.assertEqual(len(bundled), 5)
        self.assertTrue(all("/libruleengine_" in n for n in bundled))
        said = self.run_it(sys.executable, "-m", "auditwheel", "show", wheel)
        self.assertRegex(" ".join(said.split()),
                         r'platform tag: "manylinux_2_\d+_x86_64"')

        self.run_it(*pip, "install", "--no-deps", "--target", "site", wheel)
        self.write("m.onnx", package.attention().SerializeToString())
        env = {**os.environ, "PYTHONPATH": str(self.folder / "site")}
        where, count = self.run_it(sys.executable, "-c", CODE, env=env).split()
        self.assertTrue(pathlib.Path(where).is_relative_to(self.folder))
        self.assertGreater(int(count), 0)
        command = self.folder / "site" / "bin" / "ruleengine"
        self.run_it(sys.executable, command, "run", "m.onnx", "-o",
                    "theirs.onnx", "--target", "onnx", "-q", env=env)
        self.assertEqual((self.folder / "mine.onnx").read_bytes(),
                         (self.folder / "theirs.onnx").read_bytes())
        self.assertIn("ruleengine", self.run_it(
            sys.executable, "-m", "ruleengine", "--version", env=env))


if __name__ == "__main__":
    import unittest
    unittest.main()
