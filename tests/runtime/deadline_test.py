"""--limit-time holds inside kernels: single nodes that take seconds or more."""

import time
import unittest

import numpy as np
from support import program
from support.cases import Cases

# On a busy machine a run may be checked late.
LATE = 6  # seconds


def boxes(count):
    """Boxes that do not overlap, so all are kept."""
    at = np.arange(count, dtype="f4")
    return np.stack([at, at * 0, at + np.float32(0.5), at * 0 + 1], 1)[None]


class Deadline(program.ProgramTest):
    def ends(self, op, inputs, outputs=1, opset=21, **how):
        with self.subTest(op):
            cases = Cases(opset)
            cases.add(op, inputs, [None] * outputs, computed=False, **how)
            self.write("m.onnx", cases.model().SerializeToString())
            np.savez(self.folder / "in.npz", **cases.inputs)
            # The time to load the inputs does not count for the kernel.
            same = Cases(opset)
            for each in inputs:
                if isinstance(each, np.ndarray):
                    same.add("Identity", [each], [None], computed=False)
            self.write("same.onnx", same.model().SerializeToString())
            np.savez(self.folder / "same.npz", **same.inputs)
            begin = time.monotonic()
            program.run("exec", "same.onnx", "--inputs", "same.npz",
                        cwd=self.folder)
            limit = time.monotonic() - begin + 0.4
            begin = time.monotonic()
            done = program.run("exec", "m.onnx", "--inputs", "in.npz",
                               "--limit-time", limit, "--threads", 2,
                               cwd=self.folder)
            self.assertLess(time.monotonic() - begin, limit + LATE)
            self.assertEqual(done.code, 5, done.err or done.out)
            self.assertIn("--limit-time raises it", done.err)
            self.assertIn(op, done.err)

    def test_every_slow_kernel(self):
        many = np.ones((1, 1, 100_000), "f4")
        self.ends("NonMaxSuppression",
                  [boxes(100_000), many, [1 << 40], np.float32(0.5)],
                  constant=[2, 3])
        self.ends("RoiAlign",
                  [np.ones((1, 8, 9, 9), "f4"),
                   np.array([[0, 0, 9, 9]] * 4, "f4"), [0] * 4],
                  output_height=1, output_width=1, sampling_ratio=60_000)
        self.ends("MaxRoiPool",
                  [np.ones((1, 1, 1000, 1000), "f4"),
                   np.array([[0, 0, 0, 999, 999]] * 20_000, "f4")],
                  pooled_shape=[1, 1])
        line = np.random.default_rng(0).permutation(1 << 24).astype("f4")
        self.ends("Unique", [line])
        self.ends("TopK", [line, [1 << 23]], 2, constant=[1])
        self.ends("DFT", [line.reshape(1, -1, 1)], axis=1)
        self.ends("Det", [np.random.default_rng(0).standard_normal(
            (2500, 2500))])
        self.ends("Multinomial", [np.ones((1, 1000), "f4")],
                  sample_size=30_000_000)
        self.ends("MatMul", [np.ones((1 << 12, 1 << 11), "f8"),
                             np.ones((1 << 11, 1 << 13), "f8")])
        self.ends("Conv", [np.ones((1, 64, 700, 700), "f4"),
                           np.ones((256, 64, 7, 7), "f4")])
        self.ends("Attention", [np.ones((1, 1, 1 << 16, 64), "f4")] * 3,
                  opset=23)
        self.ends("TfIdfVectorizer", [np.zeros(60_000, "i8")], mode="TF",
                  min_gram_length=1, max_gram_length=60_000,
                  max_skip_count=30_000, ngram_counts=[0],
                  ngram_indexes=[0], pool_int64s=[0])


if __name__ == "__main__":
    unittest.main()
