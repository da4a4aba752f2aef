"""`--device`: a GPU that is not there, and one that a stand-in plays."""

import json
import os
import pathlib
import subprocess
import sys
import unittest

import numpy as np
from support import program

MODEL = """<ir_version: 8, opset_import: ["" : 20]>
g (float[4,8] x, float[8,3] w) => (float[4,3] y) {
  a = Gelu(x) b = Softmax(a) y = MatMul(b, w) }"""
SESSION = """
import sys, numpy as np, ruleengine
inputs = {"x": np.eye(4, 8, dtype="f"), "w": np.ones((8, 3), "f")}
expected = ruleengine.Session(sys.argv[1]).run(inputs)["y"]
session = ruleengine.Session(sys.argv[1], device="auto")
print(session.warnings)
for _ in range(6):
    found = session.run(inputs)["y"]
    np.testing.assert_allclose(found, expected, rtol=1e-5)
print(session.warnings)
"""
TF32 = """
import sys, numpy as np, ruleengine
given = {"x": np.full((4, 8), 1 + 2 ** -11, "f"), "w": np.eye(8, 3, dtype="f")}
for tf32 in False, True:
    session = ruleengine.Session(sys.argv[1], device="cuda", tf32=tf32)
    print(session.run(given)["y"].max())
"""
ATTENTION = """<ir_version: 10, opset_import: ["" : 23]>
g (float16[1,2,8,16] x) => (float16[1,2,8,16] y) { y = Attention(x, x, x) }"""
STANDIN = pathlib.Path(program.PROGRAM).parent / "cuda" / "standin"


class Device(program.ProgramTest):
    def run_in_python(self, text, model, **variables):
        return subprocess.run(
            [sys.executable, "-c", text, model], check=False,
            capture_output=True, text=True, timeout=60, env={
                **os.environ, **variables,
                "PYTHONPATH": str(pathlib.Path(program.PROGRAM).parent
                                  / "python")})

    def run_on(self, verb, *options, **variables):
        model = self.write("model.onnxtxt", MODEL)
        return program.run(verb, model, *options, cwd=self.folder,
                           env=variables)

    def test_missing(self):
        for verb in (("exec", "--random"), ("bench", "--rounds", "6")):
            found = self.run_on(*verb, "--device", "cuda",
                                CUDA_VISIBLE_DEVICES="-1")
            self.assertEqual(found.code, 2, found.err)
            self.assertIn("CUDA", found.err)
            self.assertIn("runs on the CPU", found.err)
            self.assertEqual(len(found.diagnostics()), 1)

    def test_unknown(self):
        found = self.run_on("exec", "--random", "--device", "tpu")
        self.assertEqual(found.code, 2)
        self.assertIn("cpu, cuda or auto", found.err)

    def test_auto_without_a_gpu(self):
        expected = self.run_on("exec", "--random").out
        for verb in ("exec", "--random"), ("bench", "--rounds", "6"):
            found = self.run_on(*verb, "--device", "auto",
                                CUDA_VISIBLE_DEVICES="-1")
            self.assertEqual(found.code, 0, found.err)
            self.assertRegex(found.err,
                             r"\Awarning: the CPU runs the model: .*CUDA.*\n\Z")
            if verb[0] == "exec":
                self.assertEqual(found.out, expected)

    @unittest.skipUnless(STANDIN.is_dir(), "built without CUDA")
    def test_refused(self):
        for name, value, reason in (("VERSION", "12080", "too old"),
                                    ("DEVICES", "0", "finds no GPU")):
            done = self.run_on("exec", "--random", "--device", "cuda",
                               LD_LIBRARY_PATH=str(STANDIN),
                               **{"RULEENGINE_STANDIN_" + name: value})
            self.assertEqual(done.code, 2, done.err)
            self.assertIn(reason, done.err)

    @unittest.skipUnless(STANDIN.is_dir(), "built without CUDA")
    def test_another_cublaslt(self):
        """It is not used: products run on the CPU."""
        for version, place in ((0, "cuda"), (120800, "cpu"), (140000, "cpu")):
            variables = {"RULEENGINE_STANDIN_CUBLASLT": str(version)}
            done = self.run_on("bench", "--rounds", "6", "--json", "--device",
                               "cuda", LD_LIBRARY_PATH=str(STANDIN),
                               **(variables if version else {}))
            self.assertEqual(done.code, 0, done.err)
            nodes = json.loads(done.out)["nodes"]
            self.assertEqual(nodes[place].get("MatMul"), 1)

    @unittest.skipUnless(STANDIN.is_dir(), "built without CUDA")
    def test_failures(self):
        """A call fails, of all kinds there are, at several places of a run: in
        `cuda` that is an error, in `auto` the CPU computes the same."""
        expected = self.run_on("exec", "--random").out
        failed = 0
        for failure, stays in ((2, 0), (719, 0), (46, 1)):
            for at in (5, 9, 14, 20, 27, 35):
                faults = {"RULEENGINE_STANDIN_FAILS_AT": str(at),
                          "RULEENGINE_STANDIN_FAILURE": str(failure),
                          "RULEENGINE_STANDIN_STAYS_FAILED": str(stays)}
                with self.subTest(failure=failure, at=at):
                    done = self.run_on("exec", "--random", "--device", "auto",
                                       LD_LIBRARY_PATH=str(STANDIN), **faults)
                    self.assertEqual(done.code, 0, done.err)
                    hard = self.run_on("exec", "--random", "--device", "cuda",
                                       LD_LIBRARY_PATH=str(STANDIN), **faults)
                    self.assertIn(hard.code, (0, 5))
                    if hard.code == 0:
                        self.assertEqual(done.err, "")
                        continue
                    failed += 1
                    self.assertIn("with auto, it runs on the CPU", hard.err)
                    self.assertEqual(done.out, expected)
                    self.assertRegex(
                        done.err,
                        r"\Awarning: the CPU runs the model: (the GPU|cuBLASLt) .*\n\Z")
        self.assertGreater(failed, 9)

    @unittest.skipUnless(STANDIN.is_dir(), "built without CUDA")
    def test_bench(self):
        """Rounds are recorded runs, and the ops are of rounds of their own."""
        done = self.run_on("bench", "--rounds", "8", "--json", "--device",
                           "auto", LD_LIBRARY_PATH=str(STANDIN))
        self.assertEqual((done.code, done.err), (0, ""))
        found = json.loads(done.out)
        self.assertTrue(found["recorded"])
        self.assertIsNone(found["compared"])
        self.assertEqual(found["nodes"], {"cuda": {
            "Gelu": 1, "MatMul": 1, "Softmax": 1}, "cpu": {}})
        self.assertEqual({each["op"]: each["calls"] for each in found["ops"]},
                         {"Gelu": 1, "MatMul": 1, "Softmax": 1})
        done = self.run_on("bench", "--rounds", "8", "--device", "auto",
                           LD_LIBRARY_PATH=str(STANDIN),
                           RULEENGINE_STANDIN_FAILS_AT="80",
                           RULEENGINE_STANDIN_STAYS_FAILED="1")
        self.assertEqual(done.code, 0, done.err)
        self.assertRegex(done.err, r"\Awarning: the CPU runs the model: .*\n\Z")
        self.assertNotIn("cuda", done.out)

    @unittest.skipUnless(STANDIN.is_dir(), "built without CUDA")
    def test_compare(self):
        for within, code in (("1e-5,1e-5", 0), ("0,0", 6)):
            done = self.run_on("bench", "--rounds", "6", "--json", "--device",
                               "cuda", "--compare", "--tolerance", within,
                               LD_LIBRARY_PATH=str(STANDIN))
            self.assertEqual(done.code, code, done.err)
            compared = json.loads(done.out)["compared"]
            self.assertLess(0, compared["max_abs"])
            self.assertLess(compared["max_rel"], 1e-5)
            self.assertEqual(compared["differs"] is not None, code == 6)

    @unittest.skipUnless(STANDIN.is_dir(), "built without CUDA")
    def test_tf32(self):
        """Products are rounded where it is asked for, by each door."""
        model = self.write("product.onnxtxt", MODEL.replace(
            "a = Gelu(x) b = Softmax(a) y = MatMul(b, w)", "y = MatMul(x, w)"))
        on_standin = {"LD_LIBRARY_PATH": str(STANDIN)}
        np.savez(self.folder / "in.npz", x=np.full((4, 8), 1 + 2 ** -11, "f"),
                 w=np.eye(8, 3, dtype="f"))
        for flags, expected in (((), 1 + 2 ** -11), (("--tf32",), 1)):
            done = program.run(
                "exec", model, "--inputs", "in.npz", "--outputs", "out.npz",
                "--device", "cuda", *flags, cwd=self.folder, env=on_standin)
            self.assertEqual(done.code, 0, done.err)
            found = np.load(self.folder / "out.npz")["y"]
            self.assertTrue(np.all(found == expected), found)
        done = self.run_in_python(TF32, model, **on_standin)
        self.assertEqual(done.stdout, "1.0004883\n1.0\n", done.stderr)

    @unittest.skipUnless(STANDIN.is_dir(), "built without CUDA")
    def test_standin(self):
        results = {}
        for device in ("cpu", "cuda"):
            done = self.run_on("exec", "--random", "--outputs", "out.npz",
                               "--device", device,
                               LD_LIBRARY_PATH=str(STANDIN))
            self.assertEqual(done.code, 0, done.err)
            results[device] = np.load(self.folder / "out.npz")["y"]
        np.testing.assert_allclose(results["cpu"], results["cuda"], rtol=1e-5)

    @unittest.skipUnless(STANDIN.is_dir(), "built without CUDA")
    def test_session(self):
        """The same in Python; after a failure the CPU runs what follows."""
        done = self.run_in_python(
            SESSION, self.write("model.onnxtxt", MODEL),
            LD_LIBRARY_PATH=str(STANDIN), RULEENGINE_STANDIN_FAILS_AT="60")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(
            done.stdout,
            r"\A\[\]\n\['the CPU runs the model: (the GPU|cuBLASLt) .*'\]\n\Z")


    @unittest.skipUnless(STANDIN.is_dir(), "built without CUDA")
    def test_plans_are_kept_in_a_folder(self):
        model = self.write("attention.onnxtxt", ATTENTION)
        for name, variables in (
                ("told", {"RULEENGINE_PLANS": "told"}),
                ("caches/ruleengine/plans", {"XDG_CACHE_HOME": "caches"}),
                ("home/.cache/ruleengine/plans",
                 {"XDG_CACHE_HOME": "", "HOME": "home"})):
            outputs, files = set(), set()
            for _ in range(2):
                done = program.run(
                    "exec", model, "--random", "--device", "cuda",
                    "--outputs", "out.npz", cwd=self.folder,
                    env={"LD_LIBRARY_PATH": str(STANDIN)} | {
                        each: value and str(self.folder / value)
                        for each, value in variables.items()})
                self.assertEqual(done.code, 0, done.err)
                outputs.add(np.load(self.folder / "out.npz")["y"].tobytes())
                [path] = self.folder.glob(name + "/*.plan")
                # A plan that is built is a new file.
                files.add((path.stat().st_ino, path.stat().st_mtime_ns))
            self.assertEqual(len(outputs), 1)
            self.assertEqual(len(files), 1)
        done = program.run("exec", model, "--random", "--device", "cuda",
                           cwd=self.folder,
                           env={"LD_LIBRARY_PATH": str(STANDIN),
                                "RULEENGINE_PLANS": "",
                                "HOME": str(self.folder / "none")})
        self.assertEqual(done.code, 0, done.err)
        self.assertFalse((self.folder / "none").exists())


    @unittest.skipUnless(STANDIN.is_dir(), "built without CUDA")
    def test_blocked_versions_are_read_from_a_file(self):
        model = self.write("attention.onnxtxt", ATTENTION)
        for text, code, says in (("9.0.0- | any | none is right", 0, ""),
                                 ("9.0.0- | nothing | known", 2, "nothing")):
            path = self.write("blocked.txt", text)
            done = program.run(
                "exec", model, "--random", "--device", "cuda", cwd=self.folder,
                env={"LD_LIBRARY_PATH": str(STANDIN),
                     "RULEENGINE_PLANS": str(self.folder / "plans"),
                     "RULEENGINE_BLOCKED_PLANS": str(path)})
            self.assertEqual(done.code, code, done.err)
            self.assertIn(says, done.err)
        self.assertEqual(list(self.folder.glob("plans/*.plan")), [])


if __name__ == "__main__":
    unittest.main()
