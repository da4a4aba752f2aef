"""Arithmetic on weights of any size: computed where they are written, without
holding them, and never so that the constants grow more than allowed."""

import json
import re

import numpy as np
import onnx
import onnx.helper as h
import onnx.numpy_helper as nh

from support import make, numbers, program, usage

FOLD = """
return rule {
  doc = [[ BatchNormalization(Conv(x, w))   =>   Conv(x, w s, b - mean s) ]],
  match = function(op, x, w, scale, b, mean, var)
    w:const "M _ _ _"
    for _, each in ipairs{scale, b, mean, var} do each:const "M" end
    return op.BatchNormalization{op.Conv{x, w, attrs = any}:as "conv",
      scale, b, mean, var, epsilon = any, momentum = any}:as "norm"
  end,
  where = function(m, op)
    need(op.ReduceMax{op.Abs(m.w), keepdims = 0}:scalar() < 1e4, "a weight is large", m.w)
  end,
  rewrite = function(op, m)
    local s = op.Div(m.scale, op.Sqrt(op.Add(m.var, m.norm.attrs.epsilon)))
    local w = op.Mul(m.w, op.Unsqueeze(s, {1, 2, 3}))
    return m.conv:with(m.x, w, op.Sub(m.b, op.Mul(m.mean, s)))
  end,
}
"""
WIDEN = """
return rule {
  doc = "Convolutions in double.", changes_meaning = true,
  match = function(op, x, w)
    w:type "float"
    w:const "M _ _ _"
    return op.Conv{x, w, attrs = any}:as "conv"
  end,
  rewrite = function(op, m)
    return op.Cast{m.conv:with(op.Cast{m.x, to = "double"}, op.Cast{m.w, to = "double"}), to = "float"}
  end,
}
"""
# A weight has more than 2^22 elements, so it is not computed at once.
CHANNELS, KERNEL, LAYERS = 480, 5, 5


def weight_bytes(kernel=KERNEL):
    return CHANNELS * CHANNELS * kernel * kernel * 4


def convolutions(layers=LAYERS, kernel=KERNEL):
    random = np.random.default_rng(0)
    nodes, weights, x = [], [], "x"

    def weight(name, values):
        weights.append(nh.from_array(values.astype(np.float32), name))

    for i in range(layers):
        shape = (CHANNELS, CHANNELS, kernel, kernel)
        weight(f"w{i}", random.standard_normal(shape, np.float32) / 100)
        for name in "sbmv":
            weight(f"{name}{i}", random.uniform(0.5, 2, CHANNELS))
        pads = [kernel // 2] * 4
        nodes.append(h.make_node("Conv", [x, f"w{i}"], [f"c{i}"], pads=pads))
        nodes.append(h.make_node(
            "BatchNormalization", [f"c{i}", *(f"{n}{i}" for n in "sbmv")],
            [f"y{i}"]))
        x = f"y{i}"
    image = [1, CHANNELS, 4, 4]
    graph = h.make_graph(nodes, "g", [h.make_tensor_value_info("x", 1, image)],
                         [h.make_tensor_value_info(x, 1, image)], weights)
    return h.make_model(graph, opset_imports=[h.make_opsetid("", 17)],
                        ir_version=8)


class LargeConstants(program.ProgramTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.model = convolutions()

    def setUp(self):
        super().setUp()
        self.write("fold.lua", FOLD)
        self.write("widen.lua", WIDEN)
        self.write("m.onnx", self.model.SerializeToString())

    def test_a_norm_is_folded_into_weights(self):
        self.run_ok("run", "fold.lua", "m.onnx", "-o", "out.onnx", "--verify")
        result = onnx.load(self.folder / "out.onnx")
        self.assertEqual({n.op_type for n in result.graph.node}, {"Conv"})
        self.assertEqual(len(result.graph.initializer), 2 * LAYERS)
        x = np.random.default_rng(1).standard_normal((1, CHANNELS, 4, 4))
        self.assertEqual(numbers.disagreements(
            self.folder / "m.onnx", self.folder / "out.onnx", self.model,
            {"x": x.astype(np.float32)}), [])

    def test_the_same_bytes_twice(self):
        for name in "ab":
            self.run_ok("run", "fold.lua", "m.onnx", "-o", f"{name}.onnx")
        self.assertEqual((self.folder / "a.onnx").read_bytes(),
                         (self.folder / "b.onnx").read_bytes())

    def test_the_same_bytes_on_every_machine(self):
        numbers_of = ",".join(str(i / 37) for i in range(297))
        made = make.model(
            f"g (float[297] x) => (float[297] y) <float[297] c = {{{numbers_of}}}>"
            " { e = Exp(c) t = Tanh(e) y = Sub(x, t) }")
        self.write("m.onnx", made.SerializeToString())
        self.write("fold.lua", """
return rule {
  doc = "x - f(c)   =>   x + a constant",
  match = function(op, x, c)
    c:const "N"
    return op.Sub(x, op.Tanh(op.Exp(c)))
  end,
  rewrite = function(op, m)
    return op.Add(m.x, op.Neg(op.Log(op.Exp(op.Tanh(op.Exp(m.c))))))
  end,
}
""")
        results = set()
        for bits in ("128", "256", "512"):
            self.run_ok("run", "fold.lua", "m.onnx", "-o", "out.onnx",
                        env={"RULEENGINE_VECTOR_BITS": bits})
            results.add((self.folder / "out.onnx").read_bytes())
        self.assertEqual(len(results), 1)

    def test_no_weight_is_held_twice(self):
        self.write("fold.lua", re.sub(r"  where = .*?end,\n", "", FOLD,
                                      flags=re.S))
        kernel, layers = 11, 4
        onnx.save(convolutions(layers, kernel), self.folder / "big.onnx",
                  save_as_external_data=True, location="big.data")
        idle = usage.run("test", "fold.lua", cwd=self.folder)
        used = usage.run("run", "-q", "fold.lua", "big.onnx", "-o", "out.onnx",
                         cwd=self.folder)
        self.assertEqual(used.code, 0, used.err)
        # One weight as it is read and one as it is computed.
        self.assertLess(used.mebibytes - idle.mebibytes,
                        2.5 * weight_bytes(kernel) / 2**20)

    def test_growth_is_limited(self):
        def widened(*options):
            self.run_ok("run", "widen.lua", "m.onnx", "-o", "out.onnx",
                        "--report", "r.json", *options)
            report = json.loads((self.folder / "r.json").read_text())
            return report["rules"][0]

        # 22 MiB each; by default 64 may be added.
        self.assertEqual(widened()["rewrites"], 2)
        self.assertEqual(widened("--limit-growth", "70")["rewrites"], 3)
        rule = widened("--limit-growth", "60")
        self.assertEqual(rule["rewrites"], 2)
        reasons = {each["node"]: each for each in rule["rejected"]}
        self.assertIn("and may grow by 60.0 MiB", reasons["c2"]["reason"])
        self.assertEqual(reasons["c2"]["value"], "w2_cast")
        size = (self.folder / "out.onnx").stat().st_size
        self.assertLess(size, (LAYERS + 2) * weight_bytes() + (1 << 20))

    def test_where_reads_a_weight_of_any_size(self):
        self.model = convolutions()
        values = nh.to_array(self.model.graph.initializer[0]).copy()
        values[-1, -1, -1, -1] = 20000
        self.model.graph.initializer[0].CopyFrom(nh.from_array(values, "w0"))
        self.write("m.onnx", self.model.SerializeToString())
        self.run_ok("run", "fold.lua", "m.onnx", "-o", "out.onnx",
                    "--report", "r.json")
        rule = json.loads((self.folder / "r.json").read_text())["rules"][0]
        self.assertEqual(rule["rewrites"], LAYERS - 1)
        self.assertEqual(rule["rejected"][0]["reason"], "a weight is large")
