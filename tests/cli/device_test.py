"""`--device`: a GPU that is not there, and one that a stand-in plays."""

import pathlib
import unittest

import numpy as np
from support import program

MODEL = """<ir_version: 8, opset_import: ["" : 20]>
g (float[4,8] x, float[8,3] w) => (float[4,3] y) {
  a = Gelu(x) b = Softmax(a) y = MatMul(b, w) }"""
STANDIN = pathlib.Path(program.PROGRAM).parent / "cuda" / "standin"


class Device(program.ProgramTest):
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
        self.assertIn("cpu or cuda", found.err)

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
    def test_standin(self):
        results = {}
        for device in ("cpu", "cuda"):
            done = self.run_on("exec", "--random", "--outputs", "out.npz",
                               "--device", device,
                               LD_LIBRARY_PATH=str(STANDIN))
            self.assertEqual(done.code, 0, done.err)
            results[device] = np.load(self.folder / "out.npz")["y"]
        np.testing.assert_allclose(results["cpu"], results["cuda"], rtol=1e-5)


if __name__ == "__main__":
    unittest.main()
