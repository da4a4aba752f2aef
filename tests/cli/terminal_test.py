"""A progress bar, colours and narrow tables on a terminal, and nowhere else."""

import fcntl
import os
import pty
import select
import struct
import subprocess
import termios
import time
import unittest

from support import make, program


def run_on_terminal(arguments, cwd, env=None):
    """(exit code, output to a terminal on stderr)."""
    master, slave = pty.openpty()
    environment = {**os.environ, "TERM": "xterm-256color", **(env or {})}
    environment.pop("NO_COLOR", None)
    environment.update(env or {})
    process = subprocess.Popen(
        [program.PROGRAM, *map(str, arguments)], cwd=cwd, stdin=slave,
        stdout=subprocess.DEVNULL, stderr=slave, env=environment)
    os.close(slave)
    seen, end = b"", time.monotonic() + 60
    while time.monotonic() < end:
        ready, _, _ = select.select([master], [], [], 0.1)
        try:
            part = os.read(master, 65536) if ready else None
        except OSError:
            break  # the other end is closed
        if part:
            seen += part
        elif ready or (part is None and process.poll() is not None):
            break
    os.close(master)
    return process.wait(timeout=10), seen.decode("utf-8", "replace")


class Width(program.ProgramTest):
    def test_a_report_fits_the_terminal(self):
        model = program.ROOT / "examples/bert.onnx"
        master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 100, 0, 0))
        child = subprocess.Popen([program.PROGRAM, "report", model],
                                 stdout=slave, stdin=subprocess.DEVNULL)
        os.close(slave)
        seen = b""
        try:
            while part := os.read(master, 65536):
                seen += part
        except OSError:  # the other end is closed
            pass
        os.close(master)
        self.assertEqual(child.wait(), 0)
        table = seen.decode().replace("\r", "").split("\n\n")[1]
        self.assertLessEqual(max(map(len, table.splitlines())), 100)
        self.assertGreater(len(table.splitlines()), 232)
        # Elsewhere each node has one line.
        whole = program.run("report", model).out.split("\n\n")[1]
        self.assertEqual(len(whole.splitlines()), 233)


class Terminal(program.ProgramTest):
    def setUp(self):
        super().setUp()
        # Some milliseconds for each of many matches: over half a second.
        self.write("slow.lua", make.rule(more="""where = function(m)
            local n = 0
            for i = 1, 2e5 do n = n + i % 7 end
            need(false, "slow", m.x)
          end,"""))
        nodes = " ".join(f"v{i + 1} = Neg(v{i})" for i in range(900))
        self.write("long.onnx", make.onnx_bytes(
            f"long (float[2] v0) => (float[2] y) {{ {nodes} y = Exp(v900) }}"))
        self.write("cancel.lua", make.CANCEL)
        self.write("m.onnx", make.onnx_bytes(make.NEGATIONS))

    SLOW = ["run", "slow.lua", "long.onnx", "-o", "out.onnx"]

    def test_progress_on_a_terminal(self):
        code, seen = run_on_terminal(self.SLOW, self.folder)
        self.assertEqual(code, 0, seen)
        self.assertRegex(seen, r"\rlong\.onnx \[#*\.*\] \d+/\d+")
        # It is erased when the table is printed.
        self.assertIn("\r\x1b[K", seen)

    def test_no_progress_when_quiet_or_quick(self):
        _, seen = run_on_terminal([*self.SLOW, "-q"], self.folder)
        self.assertNotIn("\r\x1b[K", seen)
        code, seen = run_on_terminal(
            ["run", "cancel.lua", "m.onnx", "-o", "out.onnx"], self.folder)
        self.assertEqual(code, 0)
        self.assertNotIn("[#", seen)

    def test_no_progress_elsewhere(self):
        done = self.run_ok(*self.SLOW)
        self.assertNotIn("\r", done.err)
        self.assertNotIn("\x1b", done.err)

    def test_colours(self):
        words = ["run", "cancel.lua", "nobody.onnx"]
        code, seen = run_on_terminal(words, self.folder)
        self.assertEqual(code, 3)
        self.assertIn("\x1b[1;31merror:\x1b[0m", seen)
        _, seen = run_on_terminal(words, self.folder, {"NO_COLOR": "1"})
        self.assertNotIn("\x1b[1", seen)
        done = program.run(*words, cwd=self.folder)
        self.assertNotIn("\x1b", done.err)

    def test_a_model_cannot_send_escapes(self):
        model = make.model(make.NEGATIONS)
        model.graph.node[2].name = "qqqqq"
        data = model.SerializeToString().replace(b"qqqqq", b"\x1b[31m")
        self.write("evil.onnx", data)
        for words in (["match", "cancel.lua", "evil.onnx"],
                      ["explain", "cancel.lua", "evil.onnx"],
                      ["report", "evil.onnx"]):
            done = program.run(*words, cwd=self.folder)
            self.assertNotIn("\x1b", done.out + done.err, words)


if __name__ == "__main__":
    unittest.main()
