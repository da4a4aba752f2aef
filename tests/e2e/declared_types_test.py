"""Types that a file declares for inner values: unknown ones are not written,
stale ones are ignored, contradictory ones stop rewrites that depend on them."""

import json
import unittest

import numpy as np
import onnx
import onnxruntime as ort
from onnx import helper, numpy_helper
from onnx.parser import parse_model

from support import dialect, program

HEAD = ('<ir_version: 8, opset_import: ["" : %d, "com.example" : 1, '
        '"tensor_cast" : 1, "com.microsoft" : 1, "ruleengine" : 1]>\n')


def session(model):
    options = ort.SessionOptions()
    options.log_severity_level = 3
    return ort.InferenceSession(model.SerializeToString(), options,
                                providers=["CPUExecutionProvider"])


def infos(model):
    return {v.name: v.type.tensor_type for v in model.graph.value_info}


class Declared(program.ProgramTest):
    def rewritten(self, model, *rules, target="portable", options=()):
        if isinstance(model, str):
            path = self.write("m.onnxtxt", model)
        else:
            path = self.write("m.onnx", model.SerializeToString())
        done = self.run_ok("run", *rules, path, "-o", "out.onnx", "--report",
                           "r.json", "--target", target, *options)
        report = json.loads((self.folder / "r.json").read_text())
        return onnx.load(self.folder / "out.onnx"), report, done

    def rule(self, text, name="rule"):
        return self.write(name + ".lua", "return rule {\n" + text + "\n}\n")


class Unknown(Declared):
    def quantized(self, op):
        """`op` of two matrices that are results of ops without a schema."""
        rng = np.random.default_rng(0)

        def weight(name, array):
            return numpy_helper.from_array(np.asarray(array), name)

        nodes = [helper.make_node("DequantizeLinear", [x, "s", "z"], [x + "f"],
                                  domain="com.microsoft") for x in "xw"]
        inputs = ["xf", "wf", "b"] if op == "Gemm" else ["xf", "wf"]
        kwargs = {"transB": 1} if op == "Gemm" else {}
        nodes += [helper.make_node(op, inputs, ["g"], **kwargs),
                  helper.make_node("Relu", ["g"], ["y"])]
        columns = 4 if op == "Gemm" else 8
        graph = helper.make_graph(
            nodes, "g",
            [helper.make_tensor_value_info("x", onnx.TensorProto.UINT16,
                                           [2, 8])],
            [helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT,
                                           [2, columns])],
            [weight("s", np.float32(.001)), weight("z", np.uint16(32768)),
             weight("w", rng.integers(0, 65535, (columns, 8))
                    .astype(np.uint16)),
             weight("b", np.ones(4, np.float32))])
        return helper.make_model(
            graph, ir_version=8,
            opset_imports=[helper.make_opsetid("", 17),
                           helper.make_opsetid("com.microsoft", 1)])

    def test_no_type_is_made_up(self):
        model = self.quantized("Gemm")
        feeds = {"x": np.arange(16, dtype=np.uint16).reshape(2, 8)}
        want = session(model).run(None, feeds)[0]
        for target in ("portable", "onnx", "ort"):
            result = self.rewritten(model, *program.packs(), target=target)[0]
            for name, tensor in infos(result).items():
                self.assertNotEqual(tensor.elem_type, 0, name)
            got = session(result).run(None, feeds)[0]
            np.testing.assert_allclose(got, want, rtol=1e-5)

    def test_a_shape_without_a_type_is_not_written(self):
        rule = self.rule("""
  match = function(op, x, w)
    local function float(v, s, z)
      return op["com.microsoft"].DequantizeLinear{v, s, z}
    end
    local s, z = any, any
    return op.MatMul(float(x, s, z), float(w, s, z))
  end,
  rewrite = function(op, m)
    return op["com.example"].Product(m.x, m.w)
  end""")
        result = self.rewritten(self.quantized("MatMul"), rule)[0]
        self.assertIn("Product", [n.op_type for n in result.graph.node])
        self.assertEqual([t for t in infos(result).values()
                          if t.elem_type == 0], [])


# Inner shapes are for a batch of 1, a past of 16 and 8 new tokens.
GPU = "onnx/scaled_dot_product_attention.gpu=true"
STALE = HEAD % 17 + """
g (float[B,4,S,16] q, float[B,4,P,16] past, float[B,4,S,16] k,
   float[B,4,P,16] past_v, float[B,4,S,16] v, float[S,T] mask)
  => (float[B,4,S,16] y)
  <int64[1] c = {1}, float d = {4.0}, float[1,4,24,16] keys,
   float[1,4,16,24] kt, float[1,4,8,24] s, float[1,4,8,24] e,
   float[1,4,8,24] m, float[1,4,8,24] p, float[1,4,24,16] values,
   float[1,4,8,16] y0> {
  keys = Concat <axis = 2> (past, k)
  values = Concat <axis = 2> (past_v, v)
  kt = Transpose <perm = [0, 1, 3, 2]> (keys)
  s = MatMul(q, kt)
  e = Div(s, d)
  m = Add(e, mask)
  p = Softmax <axis = -1> (m)
  y0 = MatMul(p, values)
  y = Identity(y0)
}"""


class Stale(Declared):
    def feeds(self, batch, past, new):
        rng = np.random.default_rng(past)

        def normal(*shape):
            return rng.normal(size=shape).astype(np.float32)

        return {"q": normal(batch, 4, new, 16),
                "past": normal(batch, 4, past, 16),
                "k": normal(batch, 4, new, 16),
                "past_v": normal(batch, 4, past, 16),
                "v": normal(batch, 4, new, 16),
                "mask": normal(new, past + new)}

    def test_no_length_is_baked_in(self):
        original = session(parse_model(STALE))
        for target, options in (("portable", ()), ("ort", ()),
                                ("onnx", ("--opset", "23", "--set", GPU))):
            result, report, _ = self.rewritten(
                STALE, *program.packs(), target=target, options=options)
            fused = {"portable": "ScaledDotProductAttention",
                     "onnx": "Attention", "ort": "ScaledDotProductAttention"}[target]
            self.assertIn(fused, [n.op_type for n in result.graph.node],
                          report["rules"])
            after = session(result)
            for sizes in ((1, 16, 8), (2, 3, 5), (1, 0, 1), (3, 7, 1)):
                feeds = self.feeds(*sizes)
                np.testing.assert_allclose(
                    after.run(None, feeds)[0], original.run(None, feeds)[0],
                    rtol=1e-4, atol=1e-5, err_msg=f"{target} {sizes}")

    def test_a_rule_does_not_see_stale_numbers(self):
        rule = self.rule("""
  match = function(op, x) return op.Neg(x):as "n" end,
  where = function(m)
    need(type(m.x:dim(0)) == "number", "a size that varies", m.x)
  end,
  rewrite = function(op, m) return op.Mul(m.x, -1) end""")
        graph = ("g (float[N,4] x) => (float[N,4] y) <float[8,4] r> "
                 "{ r = Relu(x) y = Neg(r) }")
        report = self.rewritten(HEAD % 17 + graph, rule)[1]["rules"][0]
        self.assertEqual(report["rewrites"], 0)
        self.assertEqual(report["rejected"][0]["reason"], "a size that varies")
        # For an unknown op the declared number is the only size.
        graph = graph.replace("Relu", "com.example.F")
        report = self.rewritten(HEAD % 17 + graph, rule)[1]["rules"][0]
        self.assertEqual(report["rewrites"], 1)

    def test_an_edit_shows_that_numbers_are_stale(self):
        swish = self.rule("""
  phase = "attention",
  match = function(op, x) return op["com.example"].Swish(x) end,
  rewrite = function(op, m) return op.Tanh(m.x) end""", "swish")
        sizes = self.rule("""
  phase = "linear",
  match = function(op, x) return op.Shape(x) end,
  where = function(m)
    need(type(m.x:dim(0)) == "number", "no number", m.x)
  end,
  rewrite = function(op, m)
    return op.Concat{{m.x:dim(0)}, axis = 0}
  end""", "sizes")
        result, report, _ = self.rewritten(
            HEAD % 18 + "g (float[S] x) => (float[S] u, int64[1] v) "
            "<float[8] a, float[8] b> { a = com.example.Swish(x)  u = Neg(a)"
            "  b = com.example.Other(x)  v = Shape(b) }", swish, sizes)
        self.assertEqual([r["rewrites"] for r in report["rules"]], [1, 0])
        self.assertEqual(list(infos(result)), [])

    def test_contradicted_types_are_not_propagated(self):
        rule = self.rule("""
  match = function(op, x) return op.Neg(x) end,
  rewrite = function(op, m) return op.Mul(m.x, -1) end""")
        result = self.rewritten(
            HEAD % 17 + "g (float[N,4] x) => (float[N,4] y) <float[8,4] r> "
            "{ r = Neg(x) y = Relu(r) }", rule)[0]
        self.assertEqual([n.op_type for n in result.graph.node],
                         ["Mul", "Relu"])
        self.assertEqual(list(infos(result)), [])


class Contradictory(Declared):
    NEG = """
  match = function(op, x) return op.Neg(op.Relu(x)) end,
  rewrite = function(op, m) return op["com.example"].Negated(m.x) end"""

    def check(self, graph, fires):
        _, report, done = self.rewritten(HEAD % 17 + graph,
                                         self.rule(self.NEG))
        rule = report["rules"][0]
        self.assertEqual(rule["rewrites"], int(fires))
        if not fires:
            self.assertIn("contradict", rule["rejected"][0]["reason"])
            self.assertIn("is declared as", rule["rejected"][0]["value"])
            self.assertIn("is declared as", done.err)

    def test_neighbours_of_one_stay(self):
        graph = ("g (float[2,4] x) => (float[%s] y, float[2,4] z) <%s r> "
                 "{ r = Relu(x) y = Neg(r) z = Abs(x) }")
        self.check(graph % ("2,4", "float[2,4]"), True)
        self.check(graph % ("2,4", "float[2,5]"), False)
        self.check(graph % ("2,4", "float[1,2,4]"), False)
        self.check(graph % ("2,4", "float16[2,4]"), False)
        self.check(graph % ("2,4,1", "float[2,4]"), False)

    def test_elsewhere_goes_on(self):
        self.check("g (float[2,4] x) => (float[2,4] y, float[2,5] z) "
                   "{ r = Relu(x) y = Neg(r) z = Abs(x) }", True)


class Norms(Declared):
    """add_rms_norm of values that broadcast."""

    def check(self, graph, *rules, options=()):
        model = parse_model(HEAD % 23 + graph)
        result = self.rewritten(HEAD % 23 + graph, *rules, options=options)[0]
        rng = np.random.default_rng(0)
        feeds = {}
        for v in model.graph.input:
            shape = [d.dim_value for d in v.type.tensor_type.shape.dim]
            feeds[v.name] = rng.normal(size=shape).astype(np.float32)
        want, got = (dialect.evaluate(m, feeds) for m in (model, result))
        for name, value in want.items():
            self.assertEqual(got[name].shape, value.shape)
            np.testing.assert_allclose(got[name], value, rtol=1e-5)

    def test_a_reshape_that_takes_an_axis_away_stays(self):
        for x, z in (("4,8", "1,4,8"), ("1,4,8", "4,8"), ("8", "1,4,8"),
                     ("4,8", "1,1,8")):
            for node in ("u = tensor_cast.add_rms_norm(x, z, w)",
                         "n, u = tensor_cast.add_rms_norm2(x, z, w)",
                         "u, t = tensor_cast.add_rms_norm2(x, z, w)"):
                self.check(f"g (float[{x}] x, float[8] w, float[{z}] z) => "
                           "(float[4,8] y) <int64[2] c = {4, 8}> "
                           f"{{ {node} r = Reshape(u, c) y = Relu(r) }}",
                           *program.packs())

    def test_a_chain_of_another_rank_is_left_alone(self):
        rules = [program.ROOT / "rules/sequence_parallel.lua"]
        model = HEAD % 23 + """
g (float[4,8] x, float[8] w, float[1,2,8] z) => (float[1,4,8] y) {
  s = tensor_cast.all_reduce <rank = 0, rank_group = [0, 1]> (x)
  g = tensor_cast.all_gather <dim = 1, rank = 0, rank_group = [0, 1]> (z)
  n = tensor_cast.add_rms_norm(s, g, w)
  y = Relu(n)
}"""
        rng = np.random.default_rng(0)
        feeds = [{"x": rng.normal(size=(4, 8)).astype(np.float32),
                  "w": np.ones(8, np.float32),
                  "z": rng.normal(size=(1, 2, 8)).astype(np.float32)}
                 for _ in range(2)]
        result = self.rewritten(
            model, *rules,
            options=("--set", "sequence_parallel.enable=true"))[0]
        want, got = (dialect.evaluate_ranks(m, feeds)
                     for m in (parse_model(model), result))
        for a, b in zip(want, got):
            np.testing.assert_allclose(b["y"], a["y"], rtol=1e-5)


class Constants(Declared):
    RULE = """
  match = function(op, x, w) return op.Add(x, w) end,
  where = function(m) need(m.w:const(), "no constant", m.w) end,
  rewrite = function(op, m) return op.Sub(m.x, op.Neg(m.w)) end"""

    def rewrites(self, rows, columns, elem=onnx.TensorProto.FLOAT):
        w = numpy_helper.from_array(
            np.ones((rows, columns), helper.tensor_dtype_to_np_dtype(elem)),
            "a")
        graph = helper.make_graph(
            [helper.make_node("Mul", ["a", "a"], ["w"]),
             helper.make_node("Add", ["x", "w"], ["y"])], "g",
            [helper.make_tensor_value_info("x", elem, ["N", rows, columns])],
            [helper.make_tensor_value_info("y", elem, ["N", rows, columns])],
            [w])
        model = helper.make_model(
            graph, ir_version=8, opset_imports=[helper.make_opsetid("", 17)])
        result, report, done = self.rewritten(model, self.rule(self.RULE))
        ops = [n.op_type for n in result.graph.node]
        if report["rules"][0]["rewrites"]:
            self.assertEqual(ops, ["Sub"], "it did not fold")
        return report["rules"][0]["rewrites"], done.err

    def test_what_is_constant_folds(self):
        for side in (255, 258, 1024):
            self.assertEqual(self.rewrites(side, side)[0], 1, side)

    def test_a_large_one_is_computed_when_it_is_written(self):
        self.assertEqual(self.rewrites(2049, 2048)[0], 1)

    def test_a_constant_that_does_not_fold_warns(self):
        count, said = self.rewrites(2049, 2048, onnx.TensorProto.INT64)
        self.assertEqual(count, 0)
        self.assertIn("too large to be computed", said)


class Silenced(Declared):
    def test_the_report_has_permissions_of_options(self):
        model = HEAD % 21 + """
g (float[2,3,8] x, bool[3,3] mask, float[24,8] w, float[24] b, float[8,8] o)
  => (float[2,3,8] y) {
  y = ruleengine.MultiheadAttention <num_heads = 2, embed_dim = 8,
    batch_first = 1> (x, x, x, w, b, o, "", mask)
}"""
        pack = program.ROOT / "rules/attention.lua"
        alone = (program.ROOT /
                 "rules/attention/decompose_multihead_attention.lua")
        _, report, done = self.rewritten(model, alone)
        self.assertEqual([w["message"] for w in report["warnings"]],
                         ["Skipping MHA at y: attn_mask is not None"])
        self.assertIn("attn_mask is not None", done.err)
        _, report, done = self.rewritten(model, pack)
        said = [w for w in report["warnings"] if "attn_mask" in w["message"]]
        self.assertEqual([w["message"] for w in said],
                         ["Not skipping MHA at y: attn_mask is not None"])
        self.assertEqual(said[0]["rule"], "decompose_multihead_attention")
        self.assertNotIn("attn_mask", done.err)


if __name__ == "__main__":
    unittest.main()
