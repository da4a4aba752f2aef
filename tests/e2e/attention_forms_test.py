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
        """Softmax along another axis; probabilities with another reader."""
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


    def test_the_kernel_takes_what_is_its_own(self):
        """After compose, fuse_masked_attention still finds its masks."""
        self.write("m.onnxtxt", """
            <ir_version: 10, opset_import: ["" : 21]>
            g (float[2,4,8,16] q, float[2,4,8,16] k, float[2,4,8,16] v,
               float[2,1,1,8] m) => (float[2,4,8,16] y) <float c = {4.0}> {
              kt = Transpose <perm = [0,1,3,2]> (k)
              s = MatMul(q, kt)
              d = Div(s, c)
              a = Add(d, m)
              p = Softmax <axis = -1> (a)
              y = MatMul(p, v)
            }""")
        self.run_ok("run", *[
            program.ROOT / "rules" / "attention" / f"{name}.lua" for name in
            ("compose_scaled_dot_product_attention", "fuse_masked_attention")],
            "m.onnxtxt", "-o", "out.onnx", "--target", "portable")
        (node,) = onnx.load(self.folder / "out.onnx").graph.node
        self.assertEqual(graphs.op(node), "ruleengine::AttentionForward")


# Spellings that differ too much from the others to be choices: (inputs, body).
OTHERS = {
    "one head": ("float[B,5,8] q, float[B,7,8] k, float[B,7,6] v", """
        kt = Transpose <perm = [0,2,1]> (k)
        s = MatMul(q, kt)
        d = Div(s, c)
        p = Softmax <axis = -1> (d)
        y = MatMul(p, v)""", "B,5,6"),
    "one head, a mask for each": (
        "float[2,5,8] q, float[2,8,7] k, float[2,7,8] v, float[2,1,7] m", """
        qs = Mul(q, c)
        s = MatMul(qs, k)
        a = Add(s, m)
        p = Softmax <axis = -1> (a)
        y = MatMul(p, v)""", "2,5,8"),
    "one head, one mask": (
        "float[2,5,8] q, float[2,7,8] k, float[2,7,8] v, float[5,7] m", """
        kt = Transpose <perm = [0,2,1]> (k)
        s = MatMul(q, kt)
        a = Add(m, s)
        p = Softmax <axis = -1> (a)
        y = MatMul(p, v)""", "2,5,8"),
    "einsum": ("float[2,4,5,8] q, float[2,4,7,8] k, float[2,4,7,8] v", """
        s = Einsum <equation = "bhid,bhjd->bhij"> (q, k)
        d = Mul(s, c)
        p = Softmax <axis = -1> (d)
        y = Einsum <equation = "bhij,bhjd->bhid"> (p, v)""", "2,4,5,8"),
    "einsum, heads inside": (
        "float[2,5,4,8] q, float[2,7,4,8] k, float[2,7,4,8] v", """
        s = Einsum <equation = "bihd,bjhd->bhij"> (q, k)
        p = Softmax <axis = -1> (s)
        y = Einsum <equation = "bhij,bjhd->bihd"> (p, v)""", "2,5,4,8"),
    "einsum, the sequence first": (
        "float[5,2,4,8] q, float[7,2,4,8] k, float[7,2,4,8] v,"
        " float[2,1,5,7] m", """
        s = Einsum <equation = "ibnd,jbnd->bnij"> (q, k)
        d = Mul(s, c)
        a = Add(d, m)
        p = Softmax <axis = 3> (a)
        y = Einsum <equation = "bnij,jbnd->ibnd"> (p, v)""", "5,2,4,8"),
}


class OtherForms(AttentionForms):
    def test_every_form(self):
        for name, (inputs, body, output) in OTHERS.items():
            with self.subTest(name):
                model = onnx.parser.parse_model(
                    '<ir_version: 8, opset_import: ["" : 17]> '
                    f"g ({inputs}) => (float[{output}] y) "
                    f"<float c = {{0.35}}> {{{body}}}")
                source = self.write("m.onnx", model.SerializeToString())
                self.run_ok("run", *program.packs(), source, "-o", "out.onnx",
                            "-q")
                self.check(model, source, self.folder / "out.onnx")

    test_what_is_not_attention = None
    test_the_kernel_takes_what_is_its_own = None


if __name__ == "__main__":
    unittest.main()
