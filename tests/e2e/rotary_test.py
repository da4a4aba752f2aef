"""Rotary embeddings in every spelling become one op of each target, and compute
the same in ONNX Runtime."""

import collections
import unittest

import onnx

from support import graphs, numbers, program, rotary_forms

OPS = {"onnx": "RotaryEmbedding", "ort": "com.microsoft::RotaryEmbedding"}
# Canonical forms of which the rules of the targets know only one.
FORMS = ["common_subexpressions", "gather_as_slice", "normalize_operators",
         "parts_of_copies", "stack_as_concat"]
# Ops that stay if an embedding is only partly found.
PARTS = {"Neg", "Sub", "Add", "Split", "Tile"}


class RotaryForms(program.ProgramTest):
    def check_all(self, target, forms):
        sources = {}
        for i, form in enumerate(forms):
            model = rotary_forms.build(form)
            sources[f"f{i}"] = form, model, self.write(
                f"f{i}.onnx", model.SerializeToString())
        rules = program.ROOT / "rules"
        self.run_ok("run", *(rules / "canonical" / f"{name}.lua" for name in FORMS),
                    rules / "targets" / target,
                    *[s[2] for s in sources.values()], "-o", "out", "-q",
                    "--jobs", "2", "--target", "portable")
        for name, (form, model, source) in sources.items():
            with self.subTest(**form):
                result = self.folder / "out" / f"{name}.rewritten.onnx"
                self.check(form, model, source, result, OPS[target])

    def check(self, form, model, source, path, wanted):
        result = onnx.load(path)
        onnx.checker.check_model(result)
        ops = collections.Counter(graphs.op(n) for n in result.graph.node)
        self.assertEqual(ops[wanted], 1, ops)
        kept = {"Split"} if form["angles"] == "sections" else set()
        self.assertFalse(set(ops) & (PARTS - kept), ops)
        if form["kind"] != "mixed":
            shapes = {n.output[0] for n in result.graph.node
                      if n.op_type == "Shape"}
            self.assertFalse([n for n in result.graph.node
                              if n.op_type == "Slice"
                              and n.input[0] not in shapes], ops)
        feeds = rotary_forms.feeds(model)
        before, after = (numbers.session(p).run(None, feeds)[0]
                         for p in (source, path))
        self.assertIsNone(numbers.difference(
            before, after, 1e-5 if form["kind"] == "float" else 1e-2))

    def test_onnx(self):
        self.check_all("onnx", [{**form, "opset": 23}
                                for form in rotary_forms.FORMS])

    def test_ort(self):
        self.check_all("ort", rotary_forms.FORMS)


if __name__ == "__main__":
    unittest.main()
