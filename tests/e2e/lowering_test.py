"""The way back: fuse, lower, fuse is a fixed point, and lowered models compute
what the originals compute. Every model that a clone has."""

import collections
import pathlib
import unittest

import numpy as np
import onnx

from support import graphs, numbers, program

MODELS = sorted((program.DATA / "models").glob("*.onnx"))
LOWERING = program.ROOT / "rules" / "lowering" / "all.lua"


def ops(path):
    return collections.Counter(
        graphs.op(node) for node in onnx.load(path).graph.node)


class Lowering(program.ProgramTest):
    def run_rules(self, rules, source, result):
        self.run_ok("run", *rules, source, "-o", result, "-q", "--target",
                    "portable")
        return self.folder / result

    def check(self, source: pathlib.Path):
        fused = self.run_rules(program.packs(), source, "fused.onnx")
        lowered = self.run_rules([LOWERING], fused, "lowered.onnx")
        again = self.run_rules(program.packs(), lowered, "again.onnx")
        self.assertFalse([op for op in ops(lowered)
                          if op.startswith("ruleengine::")])
        self.assertEqual(ops(again), ops(fused))
        inputs = source.with_suffix(".npz")
        if inputs.exists():
            with np.load(inputs) as saved:
                feeds = {key: saved[key] for key in saved.files}
            self.assertEqual(numbers.disagreements(
                source, lowered, onnx.load(source), feeds), [])

    def test_every_model(self):
        self.assertGreater(len(MODELS), 20)
        for source in MODELS:
            with self.subTest(source.stem):
                self.check(source)


if __name__ == "__main__":
    unittest.main()
