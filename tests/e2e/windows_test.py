"""Two blocks of torchvision's Swin and Swin V2, with the numbers of their exports:
decomposed for every target, and lowered. Maps of known and of symbolic size."""

import unittest

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from support import graphs, numbers, program

LOWERING = program.ROOT / "rules" / "lowering" / "all.lua"
WINDOWS = {"ruleengine::SwinWindowPartition", "ruleengine::SwinAttention",
           "ruleengine::SwinWindowReverse"}


def arrays(kind):
    with np.load(program.DATA / "windows.npz") as saved:
        return {key.split(".")[1]: saved[key] for key in saved.files
                if key.startswith(kind)}


def table_of_v2(nodes):
    """A small network of relative coordinates; adds the names of constants."""
    nodes += [
        helper.make_node("MatMul", ["coords", "net_w1"], ["hidden"]),
        helper.make_node("Add", ["hidden", "net_b1"], ["biased"]),
        helper.make_node("Relu", ["biased"], ["bent"]),
        helper.make_node("MatMul", ["bent", "net_w2"], ["by_place"]),
        helper.make_node("Reshape", ["by_place", "flat"], ["table"])]


def block(kind, sizes, opset):
    """(the model, its input, its output)"""
    data = arrays(kind)
    x, y = data.pop("x"), data.pop("y")
    data.update(flat=np.array([-1, 2]), square=np.array([16, 16, -1]),
                sixteen=np.float32(16))
    nodes = []
    if kind == "v2":
        table_of_v2(nodes)
    nodes += [
        helper.make_node("Gather", ["table", "index"], ["rows"], axis=0),
        helper.make_node("Reshape", ["rows", "square"], ["pairs"]),
        helper.make_node("Transpose", ["pairs"], ["heads"], perm=[2, 0, 1])]
    if opset >= 13:
        data["first"] = np.array([0])
        nodes.append(helper.make_node("Unsqueeze", ["heads", "first"], ["b"]))
    else:
        nodes.append(helper.make_node("Unsqueeze", ["heads"], ["b"], axes=[0]))
    names = ["x", "qkv_w", "proj_w", "b", "qkv_b", "proj_b"]
    if kind == "v2":
        nodes += [helper.make_node("Sigmoid", ["b"], ["sigmoid"]),
                  helper.make_node("Mul", ["sixteen", "sigmoid"], ["bias"])]
        names[3] = "bias"
        names.append("logit_scale")
    nodes.append(helper.make_node(
        "ShiftedWindowAttention", names, ["y"], domain="ruleengine",
        window_size=[4, 4], shift_size=[2, 2], num_heads=2))
    graph = helper.make_graph(
        nodes, "block",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, sizes)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, sizes)],
        [numpy_helper.from_array(array, name) for name, array in data.items()])
    return helper.make_model(graph, ir_version=7, opset_imports=[
        helper.make_opsetid("", opset), helper.make_opsetid("ruleengine", 1)
    ]), x, y


class Windows(program.ProgramTest):
    def check(self, result, x, y):
        (got,) = numbers.session(self.folder / result).run(None, {"x": x})
        self.assertIsNone(numbers.difference(y, got, 1e-5))
        model = onnx.load(self.folder / result)
        return {graphs.op(node) for node in model.graph.node}

    def rewrite(self, rules, source, result, target="portable"):
        return self.run_ok("run", *rules, source, "-o", result, "--target",
                           target).err

    def test_targets(self):
        for kind in ("v1", "v2"):
            for opset in (11, 17, 21):
                model, x, y = block(kind, [None, 16, 16, 32], opset)
                self.write("m.onnx", model.SerializeToString())
                for target, made in (
                        ("portable", WINDOWS), ("onnx", {"Attention"}),
                        ("ort", {"com.microsoft::MultiHeadAttention"})):
                    with self.subTest(kind, opset=opset, target=target):
                        log = self.rewrite(program.packs(), "m.onnx",
                                           f"{target}.onnx", target)
                        # Heads of v2 are normalized before tokens.
                        is_left = kind == "v2" and target != "portable"
                        self.assertEqual("saves" in log, is_left)
                        found = self.check(f"{target}.onnx", x, y)
                        self.assertLessEqual(set() if is_left else made, found)
                        self.assertEqual(bool(found & WINDOWS),
                                         target == "portable")

    def test_lowered(self):
        for kind in ("v1", "v2"):
            model, x, y = block(kind, [None, 16, 16, 32], 17)
            self.write("m.onnx", model.SerializeToString())
            self.rewrite(program.packs(), "m.onnx", "fused.onnx")
            self.rewrite([LOWERING], "fused.onnx", "lowered.onnx")
            found = self.check("lowered.onnx", x, y)
            self.assertFalse([op for op in found if "::" in op])

    def test_maps_of_any_size(self):
        for kind in ("v1", "v2"):
            model, x, y = block(kind, [None, None, None, 32], 17)
            self.write("m.onnx", model.SerializeToString())
            self.rewrite(program.packs(), "m.onnx", "portable.onnx")
            self.assertLessEqual(WINDOWS, self.check("portable.onnx", x, y))

    def test_a_bias_that_is_a_constant(self):
        """As folded by exporters: without a table."""
        model, x, y = block("v1", [None, 16, 16, 32], 17)
        data = arrays("v1")
        bias = data["table"][data["index"]].reshape(16, 16, 2)
        del model.graph.node[:-1]
        model.graph.initializer.append(numpy_helper.from_array(
            bias.transpose(2, 0, 1)[None].copy(), "b"))
        source = self.write("m.onnx", model.SerializeToString())
        self.rewrite(program.packs(), "m.onnx", "out.onnx")
        self.assertLessEqual(WINDOWS, self.check("out.onnx", x, y))
        log = self.rewrite(
            [program.ROOT / "rules/attention/decompose_swin_attention.lua"],
            "m.onnx", "out.onnx")
        self.assertIn("cannot be traced to table and index", log)
        self.assertEqual((self.folder / "out.onnx").read_bytes(),
                         source.read_bytes())

    def test_v2_is_for_the_pack(self):
        model, _, _ = block("v2", [None, 16, 16, 32], 17)
        source = self.write("m.onnx", model.SerializeToString())
        rules = program.ROOT / "rules"
        for words in ([rules / "attention/decompose_swin_attention.lua"],
                      [rules / "attention.lua", "--set",
                       "attention.swin_v2=false"]):
            log = self.rewrite(words, "m.onnx", "out.onnx")
            self.assertIn("Swin V2 (logit_scale) not supported", log)
            self.assertEqual((self.folder / "out.onnx").read_bytes(),
                             source.read_bytes())


if __name__ == "__main__":
    unittest.main()
