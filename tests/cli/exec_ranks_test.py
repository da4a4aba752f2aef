"""`ruleengine exec` on several ranks: a tensor-parallel decoder before and after
the serving packs, compared with numpy; bytes sent; ranks that do not fit."""

import importlib.util
import re
import time
import unittest

import numpy as np

from support import dialect, program

PATH = program.ROOT / "examples" / "tensor_parallel_decoder.py"
SPEC = importlib.util.spec_from_file_location(PATH.stem, PATH)
example = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(example)

PACKS = [program.ROOT / "rules" / f"{pack}.lua"
         for pack in ("linear", "quantization", "sequence_parallel")]

STALLS = """<ir_version: 10, opset_import: ["" : 21, "tensor_cast" : 1]>
g (float[4] x) => (float[4] y) {
  y = tensor_cast.all_reduce <rank = 0, rank_group = [0,1]> (x)
}"""
FAILS = """<ir_version: 10, opset_import: ["" : 21, "tensor_cast" : 1]>
g (float[4] x) => (float[4] y)
<int64[1] at = {9}, float[4] table = {1,2,3,4}> {
  none = Gather(table, at)
  z = Add(x, none)
  y = tensor_cast.all_reduce <rank = 1, rank_group = [0,1]> (z)
}"""

# Rank 0 sums in one order of the group, rank 1 in another.
OTHER_ORDER = STALLS.replace("rank = 0, rank_group = [0,1]",
                             "rank = 1, rank_group = [1,0]")
ALONE = """<ir_version: 10, opset_import: ["" : 21]>
g (float[4] x) => (float[4] y) { y = Neg(x) }"""
# The table has two rows: only some random integers are valid indices.
ROWS = """<ir_version: 10, opset_import: ["" : 21, "tensor_cast" : 1]>
g (int64[4] i, float[4] x) => (float[4,2] y) <float[2,2] table = {1,2,3,4}> {
  k = Mul(i, i)
  rows = Gather(table, k)
  y = tensor_cast.all_reduce <rank = 0, rank_group = [0,1]> (rows)
}"""


class ExecRanks(program.ProgramTest):
    def models(self, ranks, quantize=False):
        """The names of each rank's program, and of its rewritten one."""
        self.shape = example.Shape(quantize=quantize)
        made = example.build(ranks, self.shape)
        before = [f"rank{rank}.onnx" for rank in range(ranks)]
        for name, model in zip(before, made):
            self.write(name, model.SerializeToString())
        (self.folder / "out").mkdir(exist_ok=True)
        self.run_ok("run", *PACKS, *before, "-o",
                    "out/" if ranks > 1 else "out/rank0.rewritten.onnx",
                    "--set", "sequence_parallel.enable=true", "-q")
        after = [f"out/rank{rank}.rewritten.onnx" for rank in range(ranks)]
        return made, before, after

    def outputs(self, models, into):
        """{name: array} of each rank, and the output."""
        done = self.run_ok("exec", *models, "--ranks", len(models), "--inputs",
                           "in.npz", "--outputs", into + "{rank}.npz")
        found = [dict(np.load(self.folder / f"{into}{rank}.npz"))
                 for rank in range(len(models))]
        return found, done.out

    def test_before_and_after_the_packs_beside_numpy(self):
        for ranks in (1, 2, 4, 8):
            for quantize in (False, True):
                with self.subTest(ranks=ranks, quantize=quantize):
                    self.check(ranks, quantize)

    def check(self, ranks, quantize):
        made, before, after = self.models(ranks, quantize)
        ids = np.random.default_rng(ranks).integers(
            0, self.shape.vocabulary, (1, self.shape.tokens))
        np.savez(self.folder / "in.npz", ids=ids)
        name = made[0].graph.output[0].name
        want = dialect.evaluate_each(made, [{"ids": ids}] * ranks, [])
        first, _ = self.outputs(before, "first")
        second, _ = self.outputs(after, "second")
        again, _ = self.outputs(after, "again")
        for rank in range(ranks):
            exact = want[rank][name]
            # The last bit may round to another step of a quantizer.
            close = 0.05 if quantize else 1e-5
            for found in (first[rank][name], second[rank][name]):
                np.testing.assert_allclose(found, exact, rtol=1e-4, atol=close)
                self.assertLess(np.abs(found - exact).mean(), close / 10)
            np.testing.assert_array_equal(second[rank][name],
                                          again[rank][name])
            np.testing.assert_array_equal(second[rank][name],
                                          second[0][name])

    def test_bytes_are_those_that_collectives_predicts(self):
        _, before, after = self.models(4)
        np.savez(self.folder / "in.npz",
                 ids=np.zeros((1, self.shape.tokens), np.int64))
        for models in (before, after):
            _, printed = self.outputs(models, "o")
            rows = re.findall(r"^\s*(\d)\s+(\w+)\s+(\d+)\s+(\d+)\s+(\d+)$",
                              printed, re.M)
            self.assertEqual({row[0] for row in rows}, {"0", "1", "2", "3"})
            for rank, op, count, sent, predicted in rows:
                with self.subTest(rank=rank, op=op):
                    # Pieces differ by an element if the ranks do not divide the size.
                    self.assertLessEqual(abs(int(sent) - int(predicted)),
                                         8 * int(count))

    def test_one_program_for_all_ranks(self):
        self.write("m.onnxtxt", STALLS)
        np.savez(self.folder / "in0.npz", x=np.arange(4, dtype=np.float32))
        np.savez(self.folder / "in1.npz", x=np.ones(4, np.float32))
        self.run_ok("exec", "m.onnxtxt", "--ranks", 2, "--inputs",
                    "in{rank}.npz", "--outputs", "o{rank}.npz")
        for rank in range(2):
            np.testing.assert_array_equal(
                np.load(self.folder / f"o{rank}.npz")["y"], [1, 2, 3, 4])

    def test_a_rank_that_fails_ends_all(self):
        self.write("a.onnxtxt", STALLS)
        self.write("b.onnxtxt", FAILS)
        begin = time.monotonic()
        done = program.run("exec", "a.onnxtxt", "b.onnxtxt", "--random",
                           "--outputs", "o{rank}.npz", cwd=self.folder)
        self.assertLess(time.monotonic() - begin, 5)
        self.assertNotEqual(done.code, 0)
        self.assertIn("rank 1", done.err)
        self.assertEqual(list(self.folder.glob("o*.npz")), [])

    def test_ranks_that_cannot_meet(self):
        for name, text in (("a", STALLS), ("other", OTHER_ORDER),
                           ("alone", ALONE)):
            self.write(f"{name}.onnxtxt", text)
        np.savez(self.folder / "x.npz", x=np.ones(4, np.float32))
        for how in (["--random"], ["--inputs", "x.npz"]):
            for models, said in (
                    (["a", "other"], "ranks wait for each other"),
                    (["other", "a"], "ranks wait for each other"),
                    (["a", "alone"], "rank 1 ended before the op"),
                    (["alone", "other"], "rank 0 ended before the op")):
                with self.subTest(models, how=how):
                    done = program.run(
                        "exec", *(f"{each}.onnxtxt" for each in models), *how,
                        cwd=self.folder)
                    self.assertEqual(done.code, 3, done.err)
                    self.assertIn(said, done.err)

    def test_groups(self):
        for rank in range(3):
            np.savez(self.folder / f"x{rank}.npz",
                     x=np.full(4, 10 ** rank, np.float32))
        for group, ranks, wanted in (
                ("", 3, [111] * 3),                         # all ranks
                (", rank_group = []", 3, [111] * 3),
                (", rank_group = [0,1,2]", 3, [111] * 3)):
            self.write("m.onnxtxt", STALLS.replace(", rank_group = [0,1]", group))
            with self.subTest(group):
                self.run_ok("exec", "m.onnxtxt", "--ranks", ranks, "--inputs",
                            "x{rank}.npz", "--outputs", "y{rank}.npz")
                for rank in range(ranks):
                    y = np.load(self.folder / f"y{rank}.npz")["y"]
                    np.testing.assert_array_equal(y, [wanted[rank]] * 4)
        # A group stands for all like it only if it begins at a multiple of its size.
        for group in ("[1,2]", "[1]"):
            self.write("m.onnxtxt", STALLS.replace("[0,1]", group))
            with self.subTest(group):
                self.run_bad(3, "exec", "m.onnxtxt", "--ranks", 3, "--inputs",
                             "x{rank}.npz", says="rank 0 is not in the group")

    def test_sums_are_taken_in_the_order_of_the_ranks(self):
        for rank, value in enumerate((1e8, 1, -1e8, 3)):
            np.savez(self.folder / f"x{rank}.npz",
                     x=np.full(4, value, np.float32))
        wanted = np.float32(1e8) + np.float32(1) - np.float32(1e8) + 3  # 3
        for name, attributes in (("all_reduce", "rank = 0"),
                                 ("reduce_scatter", "dim = 0, rank = 0")):
            self.write("m.onnxtxt", STALLS.replace(
                "all_reduce <rank = 0, rank_group = [0,1]>",
                f"{name} <{attributes}>").replace(
                    "float[4] y", "float[M] y"))
            with self.subTest(name):
                self.run_ok("exec", "m.onnxtxt", "--ranks", 4, "--inputs",
                            "x{rank}.npz", "--outputs", "y{rank}.npz")
                for rank in range(4):
                    y = np.load(self.folder / f"y{rank}.npz")["y"]
                    np.testing.assert_array_equal(y, wanted)

    def test_inputs_are_drawn_until_all_ranks_can_run(self):
        self.write("m.onnxtxt", ROWS)
        self.run_ok("exec", "m.onnxtxt", "--ranks", 2, "--random", "--outputs",
                    "o{rank}.npz")
        for rank in range(2):
            y = np.load(self.folder / f"o{rank}.npz")["y"]
            self.assertTrue(np.isin(y[:, 0], [2, 6]).all(), y)

    def test_what_does_not_fit(self):
        self.write("a.onnxtxt", STALLS)
        for words, said in (
                (["a.onnxtxt"], "exec --ranks"),
                (["a.onnxtxt", "a.onnxtxt", "--ranks", "3"],
                 "there are 2 models for 3 ranks"),
                (["a.onnxtxt", "--ranks", "2", "--outputs", "o.npz"],
                 "each rank has outputs of its own"),
                (["a.onnxtxt", "--ranks", "2", "--profile", "o.json"],
                 "each rank has a profile of its own")):
            with self.subTest(words):
                done = program.run("exec", *words, "--random",
                                   cwd=self.folder)
                self.assertNotEqual(done.code, 0)
                self.assertIn(said, done.err)


if __name__ == "__main__":
    unittest.main()
