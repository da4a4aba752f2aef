"""Generated attention in every spelling: one node, the same numbers."""

import unittest

import onnx

from support import attention_forms, graphs, numbers, program

FORMS = (attention_forms.pairwise() +
         attention_forms.product("scale", "order", "mask"))


class AttentionForms(program.ProgramTest):
    def test_every_form(self):
        """One run over all of them; then each by itself."""
        sources = {}
        for i, form in enumerate(FORMS):
            model = attention_forms.build(form)
            sources[f"f{i}"] = (form, model, self.write(
                f"f{i}.onnx", model.SerializeToString()))
        self.run_ok("run", *program.packs(), *[s[2] for s in sources.values()],
                    "-o", "out", "-q", "--jobs", "2")
        for name, (form, model, source) in sources.items():
            with self.subTest(**form):
                self.check(model, source,
                           self.folder / "out" / f"{name}.rewritten.onnx")

    def check(self, model, source, path):
        result = onnx.load(path)
        onnx.checker.check_model(result)
        self.assertEqual(graphs.fused(result), 1)
        self.assertEqual(graphs.products_left(result), 0)
        left = {graphs.op(n) for n in result.graph.node}
        self.assertFalse(left & {"MatMul", "Softmax", "Dropout", "Expand"})
        feeds = attention_forms.feeds(model)
        self.assertEqual(numbers.disagreements(source, path, model, feeds), [])

    def test_what_is_not_attention(self):
        """Softmax along another axis; probabilities that somebody reads."""
        form = {name: choices[0]
                for name, choices in attention_forms.CHOICES.items()}
        model = attention_forms.build(form)
        other_axis = onnx.ModelProto()
        other_axis.CopyFrom(model)
        for node in other_axis.graph.node:
            if node.op_type == "Softmax":
                node.attribute[0].i = 2
        read = onnx.ModelProto()
        read.CopyFrom(model)
        (softmax,) = [n for n in read.graph.node if n.op_type == "Softmax"]
        read.graph.output.append(onnx.helper.make_tensor_value_info(
            softmax.output[0], 1, None))
        for name, changed in (("axis", other_axis), ("read", read)):
            source = self.write(f"{name}.onnx", changed.SerializeToString())
            self.run_ok("run", *program.packs(), source, "-o", "out.onnx")
            result = self.folder / "out.onnx"
            self.assertEqual(graphs.fused(onnx.load(result)), 0, name)
            self.assertEqual(numbers.disagreements(
                source, result, changed, attention_forms.feeds(changed)), [])


if __name__ == "__main__":
    unittest.main()
