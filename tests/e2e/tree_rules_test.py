"""Rules of tests/data/tree, which are shipped rules in the tree grammar, give the
same bytes as the shipped ones, on fixtures and on models."""

import json
import pathlib
import unittest

from support import program

SHIPPED = program.ROOT / "rules" / "attention"
TREES = program.DATA / "tree" / "attention"
FIXTURES = program.SHARED / "fixtures" / "cases"
MODELS = program.SHARED / "models"
# The rules to run before a rule, which let it match in more models.
BEFORE = {"compose_parallel_linears": [
    program.ROOT / "rules" / "canonical.lua",
    SHIPPED / "compose_scaled_dot_product_attention.lua"]}
# The tree states no mask, no soft cap and no other form of the keys.
NARROWER = "compose_scaled_dot_product_attention"


def models(kept, shared):
    """Those of the project, and those of the shared collection."""
    files = {path.name: path for folder in (shared, kept)
             for path in sorted(folder.glob("*.onnx"))}
    return [files[name] for name in sorted(files)]


class TreeRules(program.ProgramTest):
    def result(self, rule, model, before):
        done = program.run("run", *before, rule, model, "-o", "out.onnx",
                           "--report", "report.json", cwd=self.folder)
        # The table has times.
        said = [line for line in done.err.splitlines()
                if line.startswith(("warning", "error"))]
        report = json.loads((self.folder / "report.json").read_text())
        counts = {each["name"]: (each["matches"], each["rewrites"],
                                 len(each["rejected"]))
                  for each in report["rules"]}
        return ((self.folder / "out.onnx").read_bytes(), said,
                counts[pathlib.Path(rule).stem])

    def same(self, name, files):
        matched = 0
        for model in files:
            with self.subTest(rule=name, model=model.name):
                before = BEFORE.get(name, [])
                shipped = self.result(SHIPPED / f"{name}.lua", model, before)
                tree = self.result(TREES / f"{name}.lua", model, before)
                self.assertEqual(tree[2], shipped[2])
                self.assertEqual(tree[1], shipped[1])
                self.assertEqual(tree[0], shipped[0])
                matched += shipped[2][1]
        self.assertGreater(matched, 0)

    def test_decompose_multihead_attention(self):
        self.same("decompose_multihead_attention",
                  [path for path in models(program.DATA / "fixtures", FIXTURES)
                   if path.name.startswith("mha_")])

    def test_compose_parallel_linears(self):
        self.same("compose_parallel_linears",
                  models(program.DATA / "models", MODELS) +
                  [path for path in models(program.DATA / "fixtures", FIXTURES)
                   if path.name.startswith("cpl_")])

    def test_compose_scaled_dot_product_attention(self):
        wider = {"csdpa_masked", "csdpa_no_scale", "csdpa_k_pretransposed",
                 "csdpa_k_not_transposed"}
        self.same(NARROWER,
                  [path for path in models(program.DATA / "fixtures", FIXTURES)
                   if path.name.startswith("csdpa_")
                   and path.stem not in wider])

    def test_their_examples_hold(self):
        done = self.run_ok("test", *sorted(TREES.glob("*.lua")))
        self.assertIn("0 failed", done.out + done.err)


if __name__ == "__main__":
    unittest.main()
