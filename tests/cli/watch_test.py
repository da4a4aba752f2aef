"""`--watch`: a verb works again when a file changes."""

import os
import signal
import subprocess
import threading
import time
import unittest

from support import program

RULE = """return rule {
  doc = [[ -(-x) => x ]],
  match = function(op, x) return op.Neg(op.Neg(x)) end,
  rewrite = function(op, m) return m.x end,
  examples = {
    { "twice", "(float[2] x) => (float[2] y) { a = Neg(x) b = Neg(a) y = Abs(b) }",
      "y = Abs(x)" } } }
"""
MODEL = """<ir_version: 8, opset_import: ["" : 17]>
g (float[N] x) => (float[N] y) { a = Neg(x) b = Neg(a) y = Abs(b) }"""


class WatchTest(program.ProgramTest):
    def start(self, *arguments):
        process = subprocess.Popen(
            [program.PROGRAM, *arguments], cwd=self.folder, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        self.lines = []
        self.arrived = threading.Condition()

        def read():
            for line in process.stdout:
                with self.arrived:
                    self.lines.append(line.rstrip())
                    self.arrived.notify_all()
        threading.Thread(target=read, daemon=True).start()
        return process

    def wait_for(self, line, count=1):
        """What was said until `line` came for the count-th time."""
        with self.arrived:
            there = self.arrived.wait_for(
                lambda: self.lines.count(line) >= count, timeout=60)
        self.assertTrue(there, self.lines)
        return self.lines

    def test_examples(self):
        rule = self.write("r.lua", RULE)
        process = self.start("test", "r.lua", "--watch")
        waiting = "waiting for changes; Ctrl-C ends"
        self.wait_for(waiting)
        self.assertIn("1 passed, 0 failed", self.lines)
        # A file that is replaced, as editors do.
        other = self.write("new", RULE.replace("y = Abs(x)", "y = Neg(x)"))
        os.replace(other, rule)
        self.wait_for(waiting, 2)
        self.assertIn("changed: r.lua", self.lines)
        self.assertIn("0 passed, 1 failed", self.lines)
        # An error does not end it, and neither does a missing file.
        rule.write_text("return rule {")
        self.wait_for(waiting, 3)
        self.assertTrue(any("r.lua:1" in line for line in self.lines))
        rule.unlink()
        self.wait_for(waiting, 4)
        rule.write_text(RULE)
        self.wait_for("1 passed, 0 failed", 2)
        # A lib that did not exist.
        (self.folder / "lib").mkdir()
        self.write("lib/a.lua", "return {}")
        self.wait_for("changed: lib/a.lua")
        self.wait_for(waiting, 6)
        (self.folder / "lib/a.lua").unlink()
        self.wait_for("changed: lib/a.lua", 2)
        self.wait_for(waiting, 7)
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(60), -signal.SIGINT)

    def test_libs_of_a_pack(self):
        self.write("lib/a.lua", "return {}")
        self.write("pack/r.lua", RULE)
        self.start("test", "pack/r.lua", "--watch")
        self.wait_for("waiting for changes; Ctrl-C ends")
        self.write("lib/a.lua", "return { 1 }")
        self.wait_for("changed: lib/a.lua")

    def test_models(self):
        self.write("r.lua", RULE)
        self.write("m.onnxtxt", MODEL)
        self.start("run", "r.lua", "m.onnxtxt", "-o", "out.onnxtxt", "--watch",
                   "--limit-time", "2")
        self.wait_for("m.onnxtxt: 3 -> 1 nodes, out.onnxtxt")
        time.sleep(2.1)  # each run has the whole time
        self.write("m.onnxtxt", MODEL.replace("Abs(b)", "Relu(b)"))
        self.wait_for("m.onnxtxt: 3 -> 1 nodes, out.onnxtxt", 2)
        self.assertIn("Relu(x)", (self.folder / "out.onnxtxt").read_text())

    def test_wrong_calls(self):
        self.run_bad(2, "run", "-", "--watch", says=("--watch",))
        self.run_bad(2, "run", "r.lua", "m.onnx", "--watch", "--step",
                     says=("--step",))
        self.write("m.onnxtxt", MODEL)
        for arguments in (("run", "--watch"), ("test", "--watch"),
                          ("run", "m.onnxtxt", "x.xyz", "--watch"),
                          ("run", "m.onnxtxt", "-o", "-", "--watch")):
            self.run_bad(2, *arguments)


if __name__ == "__main__":
    unittest.main()
