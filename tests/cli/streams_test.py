"""`-`: a model on stdin, a result on stdout."""

import json
import subprocess
import unittest

import numpy as np
import onnx

from support import program

BERT = program.ROOT / "examples" / "bert.onnx"
TEXT = """<ir_version: 8, opset_import: ["" : 17]>
g (float[N,16] x, float[N,16] z) => (float[N,16] y) {
  a = Neg(x)
  s = Neg(a)
  y = Add(s, z)
}
"""


class StreamsTest(program.ProgramTest):
    def pipe(self, given, *arguments, code=0):
        """stdout, and stderr as text."""
        if isinstance(given, str):
            given = given.encode()
        done = subprocess.run([program.PROGRAM, *map(str, arguments)],
                              cwd=self.folder, input=given,
                              capture_output=True, check=False)
        self.assertEqual(done.returncode, code, done.stderr)
        return done.stdout, done.stderr.decode()

    def test_the_bytes_are_those_of_files(self):
        self.run_ok("run", BERT, "-o", "out.onnx")
        expected = (self.folder / "out.onnx").read_bytes()
        bert = BERT.read_bytes()
        self.assertEqual(self.pipe(bert, "run", "-")[0], expected)
        self.assertEqual(self.pipe(bert, "run", "-", "-o", "-")[0], expected)
        self.assertEqual(self.pipe(b"", "run", BERT, "-o", "-", "-q"),
                         (expected, ""))
        self.pipe(bert, "run", "-", "-o", "mine.onnx")
        self.assertEqual((self.folder / "mine.onnx").read_bytes(), expected)
        # Of a model that is only read from memory, verified too.
        self.assertEqual(self.pipe(bert, "run", "-", "--verify", "-q")[0],
                         expected)

    def test_text_stays_text(self):
        out, said = self.pipe(TEXT, "run", "-")
        self.assertIn(b"y = Add(x, z)", out)
        self.assertIn("-: 3 -> 1 nodes, -\n", said)
        # What no rule changes comes back as it was.
        plain = "# a comment\n".join(
            TEXT.replace("Neg(a)", "Abs(a)").split("\n", 1))
        self.write("m.onnxtxt", plain)
        self.run_ok("run", "m.onnxtxt", "-o", "out.onnxtxt")
        expected = (self.folder / "out.onnxtxt").read_bytes()
        self.assertEqual(self.pipe(plain, "run", "-")[0], expected)

    def test_other_verbs(self):
        swish = program.ROOT / "rules" / "canonical.lua"
        for arguments, part in (
                (("match", swish, "-"), b"-: 0 matches"),
                (("explain", swish, "-", "y"), b"does not match"),
                (("report", "-"), b"float[N,16]"), (("print", "-"), b"Neg(x)"),
                (("code", "-"), b"op.Neg"), (("exec", "-", "--random"), b"y "),
                (("draw", "-", "-o", "-"), b"<svg")):
            self.assertIn(part, self.pipe(TEXT, *arguments)[0])
        code = self.pipe(TEXT, "code", "-")[0]
        self.write("g.lua", code)
        built = self.pipe(TEXT, "build", "g.lua", "-", "-o", "-")[0]
        self.assertIn(b"s = Neg(a)", built)

    def test_a_report_on_stdout(self):
        out, _ = self.pipe(TEXT, "run", "-", "--dry-run", "--report", "-")
        report = json.loads(out)
        self.assertEqual(("-", 1), (report["model"], report["nodes_after"]))
        self.pipe(TEXT, "run", "-", "--report", "-", code=2)

    def test_explain_as_json(self):
        rules = program.ROOT / "rules" / "canonical.lua"
        out, _ = self.pipe(TEXT, "explain", rules, "-", "--json")
        found = {each["rule"]: each for each in json.loads(out)}
        self.assertTrue(all(each["model"] == "-" for each in found.values()))
        miss = found["cancel_transposes"]
        self.assertEqual(miss["matches"], [])
        furthest = miss["misses"][0]
        self.assertIn("Transpose", json.dumps(furthest["expected"]))
        self.assertTrue(furthest["found"])

    def test_data_of_the_current_folder(self):
        model = onnx.parser.parse_model(
            '<ir_version: 8, opset_import: ["": 17]> g (float[4] x) => '
            "(float[4] y) <float[4] w = {1,2,3,4}> { y = Add(x, w) }")
        weight = onnx.numpy_helper.from_array(
            np.arange(4096, dtype=np.float32), "w")
        model.graph.initializer[0].CopyFrom(weight)
        for value in (model.graph.input[0], model.graph.output[0]):
            value.type.tensor_type.shape.dim[0].dim_value = 4096
        onnx.save(model, self.folder / "m.onnx", save_as_external_data=True,
                  location="w.bin", size_threshold=0)
        given = (self.folder / "m.onnx").read_bytes()
        self.assertIn(b"y", self.pipe(given, "exec", "-", "--random")[0])
        out, said = self.pipe(given, "run", "-", code=2)
        self.assertEqual(out, b"")
        self.assertIn("external data, which stdout cannot carry", said)
        self.assertEqual(self.pipe(given, "run", "-", "--dry-run")[0], b"")

    def test_wrong_calls_print_nothing(self):
        self.write("m.onnxtxt", TEXT)
        for code, given, arguments, part in (
                (3, b"", ("run", "-"), "nothing"),
                (3, b"\0" * 99, ("run", "-"), "not an ONNX model"),
                (3, BERT.read_bytes()[:999], ("run", "-"), "truncated"),
                (2, TEXT, ("run", "-", "-"), "- twice"),
                (2, TEXT, ("run", "-", "m.onnxtxt"), "for one model"),
                (2, TEXT, ("run", "m.onnxtxt", "m.onnxtxt", "-o", "-"),
                 "for one model"),
                (2, TEXT, ("run", "-", "--step"), "--step"),
                (5, TEXT, ("run", "-", "--limit-rewrites", "0"), "limit")):
            out, said = self.pipe(given, *arguments, code=code)
            self.assertEqual(out, b"")
            self.assertEqual(said.count("error: "), 1)
            self.assertIn(part, said)

    def test_a_file_of_that_name(self):
        """Only the word - alone is a stream."""
        self.write("-.onnxtxt", TEXT)
        self.run_ok("run", "./-.onnxtxt", "-o", "out.onnxtxt")

    def test_stdout_that_is_full(self):
        self.write("m.onnxtxt", TEXT)
        with open("/dev/full", "wb") as full:
            done = subprocess.run(
                [program.PROGRAM, "run", "m.onnxtxt", "-o", "-", "-q"],
                cwd=self.folder, stdout=full, stderr=subprocess.PIPE,
                check=False)
        self.assertEqual(done.returncode, 7)
        self.assertEqual(done.stderr.count(b"error: "), 1)
        with open("/dev/full", "wb") as full:
            done = subprocess.run(
                [program.PROGRAM, "run", "m.onnxtxt", "-o", "-", "-q",
                 "--report", "report.json"], cwd=self.folder, stdout=full,
                stderr=subprocess.PIPE, check=False)
        self.assertEqual(done.returncode, 7)
        self.assertFalse((self.folder / "report.json").exists())

    def test_a_pipe_that_stalls(self):
        with subprocess.Popen(
                [program.PROGRAM, "run", "-", "--limit-time", "0.3"],
                cwd=self.folder, stdin=subprocess.PIPE,
                stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            process.stdin.write(TEXT[:20].encode())
            process.stdin.flush()
            self.assertEqual(process.wait(60), 5)
            self.assertEqual(process.stdout.read(), b"")
        # What is wrong with the call is said before anything is read.
        with subprocess.Popen(
                [program.PROGRAM, "run", "-", "--report", "-"],
                cwd=self.folder, stdin=subprocess.PIPE,
                stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            self.assertEqual(process.wait(60), 2)

    def test_text_is_told_by_its_bytes(self):
        for head in ("# a comment\n", "", "\n\n  "):
            text = head + TEXT
            self.assertIn(b"y = Add(x, z)", self.pipe(text, "run", "-")[0])


if __name__ == "__main__":
    unittest.main()
