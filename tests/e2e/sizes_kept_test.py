"""Shapes of results: sizes are never guessed. Sizes of 0, with the original's
meaning of 0 in a Reshape; unknown ranks; names of dimensions that mean another
size."""

import json
import unittest

import numpy as np
import onnx
import onnxruntime as ort

from support import make, program

HEAD = '<ir_version: 10, opset_import: ["" : %d, "com.example" : 1]>\n'
CANONICAL = program.ROOT / "rules" / "canonical.lua"
# Every known Shape is replaced by sizes of the inputs.
SIZES = """return rule {
  match = function(op, x) return op.Shape(x) end,
  rewrite = function(op, m) return op.Concat{m.x.shape, axis = 0} end }"""


def session(model):
    options = ort.SessionOptions()
    options.log_severity_level = 4
    options.graph_optimization_level = (
        ort.GraphOptimizationLevel.ORT_DISABLE_ALL)
    return ort.InferenceSession(model, options,
                                providers=["CPUExecutionProvider"])


class Sizes(program.ProgramTest):
    def rewritten(self, graph, *rules, opset=18):
        """(original, result, the report's rules) of a graph as text."""
        model = onnx.parser.parse_model(HEAD % opset + graph)
        source = self.write("m.onnx", model.SerializeToString())
        self.run_ok("run", *rules, source, "-o", "out.onnx", "--report",
                    "r.json", "--target", "portable")
        report = json.loads((self.folder / "r.json").read_text())
        return source, self.folder / "out.onnx", report["rules"]

    def agree(self, graph, feeds, *rules, opset=18):
        """Compares both on each of the feeds; returns how often rules fired."""
        source, result, report = self.rewritten(graph, *rules, opset=opset)
        before, after = session(str(source)), session(str(result))
        for feed in feeds:
            for want, got in zip(before.run(None, feed),
                                 after.run(None, feed)):
                self.assertEqual(got.shape, want.shape, feed.keys())
                np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)
        return sum(rule["rewrites"] for rule in report)

    def rule(self, text, name="rule"):
        return self.write(name + ".lua", text)


def ones(*shape):
    return np.ones(shape, np.float32)


class Computed(Sizes):
    def test_at_every_opset(self):
        graph = """g (float[2,P] x, float[2,S] y) => (int64[3] s) {
          z = Concat <axis = 1> (x, y)
          w = Unsqueeze <axes = [0]> (z)
          s = Shape(w)
        }"""
        feeds = [{"x": ones(2, p), "y": ones(2, s)}
                 for p, s in ((3, 4), (1, 0))]
        for opset in (8, 9, 10, 11, 12, 13, 18, 24):
            with self.subTest(opset=opset):
                later = graph.replace(
                    "w = Unsqueeze <axes = [0]> (z)",
                    "a = Constant <value = int64[1] {0}> () "
                    "w = Unsqueeze(z, a)")
                self.assertGreater(self.agree(
                    graph if opset < 13 else later, feeds,
                    self.rule(SIZES), opset=opset), 0)


class Runs(Sizes):
    """If the model runs at sizes of 0, so does the result."""

    def check(self, graph, sizes, shapes):
        source = self.write("m.onnx", onnx.parser.parse_model(
            HEAD % 17 + graph).SerializeToString())
        for target in "onnx", "ort":
            self.run_ok("run", *program.packs(), source, "-o", "out.onnx",
                        "--target", target)
            before, after = (session(str(self.folder / name))
                             for name in ("m.onnx", "out.onnx"))
            for size in sizes:
                feed = {name: ones(*(int(size.get(dim, dim)) for dim in shape))
                        for name, shape in shapes.items()}
                want, got = (each.run(None, feed)[0]
                             for each in (before, after))
                np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)

    def test_rotary_embeddings_without_a_batch(self):
        self.check("""g (float[B,2,S,8] x, float[B,S,4] c, float[B,S,4] s)
            => (float[B,2,S,8] y)
            <int64[1] one = {1}, int64[1] zero = {0}, int64[1] half = {4},
             int64[1] far = {100}, int64[1] last = {3}> {
              cc = Concat <axis = -1> (c, c)
              ss = Concat <axis = -1> (s, s)
              cu = Unsqueeze(cc, one)
              su = Unsqueeze(ss, one)
              a = Slice(x, zero, half, last)
              b = Slice(x, half, far, last)
              n = Neg(b)
              r = Concat <axis = -1> (n, a)
              p = Mul(x, cu)
              q = Mul(r, su)
              y = Add(p, q)
            }""", [{"B": b, "S": s} for b in (0, 1, 2) for s in (0, 1, 3)],
            {"x": "B2S8", "c": "BS4", "s": "BS4"})

    def test_norms_of_no_width(self):
        self.check("""g (float[2,D] x, float[D] w, float[D] b)
            => (float[2,D] y) <float two = {2.0}, float tiny = {0.00001}> {
            """ + make.LAYER_NORM + "}", [{"D": 0}, {"D": 1}, {"D": 4}],
            {"x": "2D", "w": "D", "b": "D"})


class Proven(Sizes):
    """A value is only replaced by one of provably the same shape."""

    def check(self, graph, match, rewrite, rejected=None, names="x"):
        model = onnx.parser.parse_model(HEAD % 18 + graph)
        self.write("m.onnx", model.SerializeToString())
        self.write("rule.lua", make.rule(match, rewrite, names))
        self.run_ok("run", "rule.lua", "m.onnx", "-o", "out.onnx", "--report",
                    "r.json")
        rule, = json.loads((self.folder / "r.json").read_text())["rules"]
        said = "".join(each["value"] for each in rule["rejected"])
        self.assertIn(rejected or "", said)
        self.assertEqual(rule["rewrites"], 0 if rejected else 1, said)

    def test_number_by_name(self):
        graph = ("g (float[%s] x) => (float[2,3] y) <int64[2] s = {2,3}> "
                 "{ a = Expand(x, s) y = Relu(a) }")
        drop = "op.Expand(x, any)", "m.x"
        self.check(graph % "2,3", *drop)
        self.check(graph % "N,3", *drop, "found float[N,3]")
        self.check(graph % "1,3", *drop, "found float[1,3]")

    def test_name_by_name_and_by_number(self):
        graph = "g (float[%s] x, float[%s] z) => (float[%s] y) {y = Add(x, z)}"
        drop = "op.Add(x, any)", "m.x"
        self.check(graph % ("N,3", "N,3", "N,3"), *drop)
        self.check(graph % ("N,3", "1,3", "N,3"), *drop)
        self.check(graph % ("N,3", "M,3", "R,3"), *drop,
                   "expected float[R,3], found float[N,3]")
        self.check(graph % ("1,3", "N,3", "N,3"), *drop, "found float[1,3]")

    def test_sizes_that_data_tells(self):
        graph = ("g (float[N,3] x, int64[2] s) => (float[A,B] y) "
                 "{ a = %s(x, s) y = Relu(a) }")
        for name in "Expand", "Reshape", "Tile":
            self.check(graph % name, f"op.{name}(x, any)", "m.x",
                       "found float[N,3]")

    def test_unknown_sizes_in_the_same_op(self):
        """Broadcasts of the same sizes, in any order and number."""
        graph = ("g (float[N,3] x, float[M,3] z) => (float[R,3] y) "
                 "{ a = Add(x, z) b = Mul(a, x) y = Neg(b) }")
        self.check(graph, "op.Mul(op.Add(x, z), x)",
                   "op.Add(op.Mul(m.x, m.x), op.Mul(m.x, m.z))", names="x, z")
        self.check(graph, "op.Mul(op.Add(x, z), x)", "op.Mul(m.x, m.x)",
                   "found float[N,3]", names="x, z")

    def test_unknown_rank(self):
        """The rank of x is unknown, but relations of shapes are known."""
        head = "g (float[2,3] u, float[4,5] w, float[5] b) => (float y) { " \
            "x = com.example.F(u) "
        self.check(head + "s = com.example.S(u) a = Reshape(x, s) "
                   "y = com.example.G(a) }", "op.Reshape(x, any)", "m.x",
                   "found an unknown type")
        self.check(head + "a = Relu(x) y = com.example.G(a) }", "op.Relu(x)",
                   "op.Sqrt(op.Mul(m.x, m.x))")
        product = head + "m = MatMul(x, w) a = Add(m, b) " \
            "y = com.example.G(a) }"
        linear = "op.Add(op.MatMul(x, w), b)"
        self.check(product, linear, "op.Sum(m.b, op.MatMul(m.x, m.w))",
                   names="x, w, b")
        self.check(product, linear, "op.Sum(m.b, m.x)", "found float[?]",
                   names="x, w, b")
        self.check(product, linear, "op.MatMul(op.Add(m.x, m.b), m.w)",
                   "found float[?]", names="x, w, b")

    def test_parts_of_an_unknown_rank(self):
        graph = """g (float[2,3] u) => (float y, float z)
            <float[1,2] w = {1,2}, float[1,3] v = {3,4,5}> {
              x = com.example.F(u)
              a = MatMul(x, w)
              b = MatMul(x, v)
              y = com.example.G(a)
              z = com.example.G(b)
            }"""
        model = onnx.parser.parse_model(HEAD % 18 + graph)
        self.write("m.onnx", model.SerializeToString())
        self.run_ok("run", *program.packs(), "m.onnx", "-o", "out.onnx")
        self.assertEqual([node.op_type for node in onnx.load(
            self.folder / "out.onnx").graph.node],
            ["F", "MatMul", "Split", "G", "G"])

    def test_ops_that_only_the_rule_knows(self):
        graph = ("g (float[N,3] x) => (float[2,3] y) "
                 "{ a = com.example.Swish(x) y = Relu(a) }")
        self.check(graph, 'op["com.example"].Swish(x)',
                   "op.Mul(m.x, op.Sigmoid(m.x))")

    def test_assumed(self):
        graph = ("g (float[N,3] x) => (float[2,3] y) <int64[2] s = {2,3}> "
                 "{ a = Expand(x, s) y = Relu(a) }")
        said = 'assume("there are two rows", m.x)'
        self.check(graph, "op.Expand(x, any)", f"({said} or true) and m.x")
        self.check(graph.replace("N,3", "1,3"), "op.Expand(x, any)",
                   f"({said} or true) and m.x", "found float[1,3]")


class Zero(Sizes):
    def test_a_reshape_to_a_size_of_another_input(self):
        graph = """g (float[B,T] x, float[S] z) => (int64[2] y)
          <int64[1] t = {1}> {
            s = Shape(z)  w = Shape(x)  n = Gather<axis = 0>(w, t)
            k = Concat<axis = 0>(s, n)
            r = Reshape(x, k)
            y = Shape(r)
          }"""
        self.agree(graph, [{"x": ones(3, 2), "z": ones(n)} for n in (0, 3)],
                   self.rule(SIZES), CANONICAL)

    def test_a_reshape_to_sizes_of_its_own(self):
        graph = """g (float[B,T,6] x) => (int64[3] y)
          <int64[1] six = {6}, int64[1] zero = {0}, int64[1] one = {1}> {
            w = Shape(x)
            b = Gather<axis = 0>(w, zero)  t = Gather<axis = 0>(w, one)
            bt = Mul(b, t)
            k = Concat<axis = 0>(bt, one, six)
            r = Reshape(x, k)
            y = Shape(r)
          }"""
        fired = self.agree(graph, [{"x": ones(3, 2, 6)}, {"x": ones(0, 2, 6)},
                                   {"x": ones(1, 1, 6)}],
                           self.rule(SIZES))
        self.assertGreater(fired, 0)

    def test_a_slice_of_the_last_few(self):
        graph = """g (float[T] x, float[S] z) => (int64[1] y)
          <int64[1] end = {9223372036854775807}, int64[1] axis = {0}> {
            s = Shape(z)  n = Neg(s)
            r = Slice(x, n, end, axis)
            y = Shape(r)
          }"""
        self.agree(graph, [{"x": ones(5), "z": ones(n)} for n in (0, 1, 5)],
                   self.rule(SIZES), CANONICAL)

    def test_a_rest_beside_a_computed_size(self):
        rule = self.rule("""return rule {
          match = function(op, x) return op.Flatten{x, axis = 2} end,
          rewrite = function(op, m) return op.Reshape(m.x, {-1, m.x:dim(-1)}) end }""")
        graph = """g (float[2,3,N] x) => (float[6,N] y) {
            f = Flatten<axis = 2>(x)
            y = Softmax(f)
          }"""
        fired = self.agree(graph, [{"x": ones(2, 3, n)} for n in (0, 1, 4)],
                           rule)
        self.assertEqual(fired, 1)

    def test_without_elements_no_size_is_determined(self):
        graph = """g (float[B,4,S] x, float[B,1,T] m, float[B,4,T] z)
            => (float[B,4,T] y) <int64[2] flat = {-1,4}> {
            w = Add(x, m)  a = Reshape(w, flat)
            s = Shape(z)  b = Reshape(a, s)
            y = Neg(b)
          }"""
        self.agree(graph, [{"x": ones(0, 4, 2), "m": ones(0, 1, 1),
                            "z": ones(0, 4, 1)}], CANONICAL)


class Doubted(Sizes):
    """A computed size of 0 copies another size in a Reshape. If the model runs
    at such sizes, a rewrite assumes that they do not occur."""

    HEADS = """g (float[B,S,8] x) => (float[%s] z)
        <int64[1] heads = {2}, int64[1] size = {4}, int64[1] eight = {8},
         int64[1] zero = {0}, int64[1] one = {1}> {
          w = Shape(x)
          b = Gather<axis = 0>(w, zero)  s = Gather<axis = 0>(w, one)
          apart = Concat<axis = 0>(b, s, heads, size)
          h = Reshape(x, apart)
          t = Transpose<perm = [0,2,1,3]>(h)
          many = Mul(b, heads)
          flat = Concat<axis = 0>(many, s, size)
          q = Reshape(t, flat)
          k = Transpose<perm = [0,2,1]>(q)
          scores = MatMul(q, k)
          p = Softmax<axis = -1>(scores)
          y = MatMul(p, q)
          """
    ALONE = HEADS % "N,S,4" + "z = Neg(y) }"
    JOINED = HEADS % "B,S,8" + """
          back = Concat<axis = 0>(b, heads, s, size)
          u = Reshape(y, back)
          v = Transpose<perm = [0,2,1,3]>(u)
          all = Concat<axis = 0>(b, s, eight)
          o = Reshape(v, all)
          z = Add(o, x) }"""

    def run_on(self, graph, *options):
        """(the results, the assumptions), at every pair of small sizes at which
        the model runs."""
        source = self.write("m.onnx", onnx.parser.parse_model(
            HEAD % 17 + graph).SerializeToString())
        self.run_ok("run", *program.packs(), source, "-o", "out.onnx",
                    "--report", "r.json", "--target", "standard", *options)
        report = json.loads((self.folder / "r.json").read_text())
        before, after = (session(str(self.folder / name))
                         for name in ("m.onnx", "out.onnx"))
        for batch in 0, 1, 2:
            for length in 0, 1, 3:
                feed = {"x": np.random.default_rng(1).standard_normal(
                    (batch, length, 8)).astype(np.float32)}
                try:
                    want, = before.run(None, feed)
                except Exception:  # onnxruntime's own exceptions
                    self.assertEqual(length, 0)
                    continue
                got, = after.run(None, feed)
                same = (batch, length) != (0, 0) or not report["assumptions"]
                if same:
                    self.assertEqual(got.shape, want.shape, (batch, length))
                    np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5)
        return (sum(rule["rewrites"] for rule in report["rules"]),
                {each["text"] for each in report["assumptions"]})

    def test_heads_in_the_batch(self):
        fired, assumed = self.run_on(self.ALONE)
        self.assertGreater(fired, 0)
        self.assertEqual(assumed,
                         {"no size that is computed for a Reshape is 0"})
        _, assumed = self.run_on(self.ALONE, "--exact")
        self.assertEqual(assumed, set())
        rejected = json.loads((self.folder / "r.json").read_text())["rules"]
        self.assertIn("it rests on an assumption: no size that is computed for "
                      "a Reshape is 0", {each["reason"] for rule in rejected
                                         for each in rule["rejected"]})

    def test_sizes_at_which_the_model_cannot_run(self):
        fired, assumed = self.run_on(self.JOINED)
        self.assertGreater(fired, 0)
        self.assertEqual(assumed, set())


class UnknownRank(Sizes):
    RULE = """return rule {
      match = function(op, x) return op.Relu(op.Add(x, 3)) end,
      rewrite = function(op, m) return op.Softplus(m.x) end,
      changes_meaning = true }"""

    def fires(self, three):
        _, _, report = self.rewritten(
            f"""g (float[N] x, int64[R] shape) => (float[] y) <{three}> {{
              v = Reshape(x, shape)
              a = Add(v, three)
              y = Relu(a)
            }}""", self.rule(self.RULE))
        return report[0]["rewrites"], report[0]["rejected"]

    def test_a_broadcast_must_stay(self):
        self.assertEqual(self.fires("float three = {3.0}"), (1, []))
        fired, rejected = self.fires("float[1,1,1,1] three = {3.0}")
        self.assertEqual(fired, 0)
        self.assertEqual(rejected[0]["reason"],
                         "the shape may change")

    def test_sizes_with_names_of_their_own(self):
        rule = self.rule("""return rule {
          match = function(op, x, y) return op.Add(x, op.Mul(y, 0)) end,
          rewrite = function(op, m) return m.x end }""")
        for shape, fires in (("A,B", 1), ("C,D", 0)):
            _, _, report = self.rewritten(
                f"""g (float[A,B] x, float[{shape}] y) => (float[{shape}] z)
                <float zero = {{0.0}}> {{
                  m = Mul(y, zero)  z = Add(x, m)
                }}""", rule)
            self.assertEqual(report[0]["rewrites"], fires, shape)


class Names(Sizes):
    def check_kept(self, graph, *rules):
        source, result, report = self.rewritten(graph, *rules or
                                                [self.rule(SIZES)])
        self.assertEqual(sum(rule["rewrites"] for rule in report), 0)

    def test_of_the_elements_of_a_sequence(self):
        for name in ("d0", "d1", "d5", "d4000000000"):
            self.check_kept(f"""g (seq(float[{name},4]) s, int64 i,
                float[A,B] z) => (int64[2] y, float[A,B] w) {{
                  a = SequenceAt(s, i)  r = Relu(a)  y = Shape(r)
                  w = Neg(z)
                }}""")

    def test_of_an_optional(self):
        self.check_kept("""g (optional(seq(float[d900])) o, int64 i)
            => (int64[1] y) {
              s = OptionalGetElement(o)
              a = SequenceAt(s, i)  y = Shape(a)
            }""")

    def test_through_a_sequence_that_is_made_here(self):
        source, result, report = self.rewritten(
            """g (float[A,B] x, int64 i) => (int64[2] y) {
                 s = SequenceConstruct(x, x)
                 a = SequenceAt(s, i)  y = Shape(a)
               }""", self.rule(SIZES))
        self.assertEqual(report[0]["rewrites"], 1)
        feed = {"x": ones(2, 3), "i": np.array(1)}
        for path in (source, result):
            self.assertEqual(
                session(str(path)).run(None, feed)[0].tolist(), [2, 3])

    def test_a_declared_name_is_no_proof_against_an_input(self):
        graph = """g (float[B,S] x, float[B,T] z) => (int64[2] y, float[B,T] w)
            <float[B,T] r> {
              r = Tanh(x)  y = Shape(r)  w = Neg(z)
            }"""
        fired = self.agree(graph, [{"x": ones(2, 3), "z": ones(2, 5)}],
                           self.rule(SIZES))
        self.assertEqual(fired, 1)

    def test_that_read_as_numbers(self):
        model = onnx.parser.parse_model(HEAD % 18 + """g (float[B,S,8] x)
            => (float[B,S,8] y, int64[2] z) {
              k = Transpose <perm = [0,2,1]> (x)
              s = MatMul(x, k)  p = Softmax <axis = -1> (s)
              y = MatMul(p, x)
              n = Shape <end = 1> (x)  m = Shape <start = 1, end = 2> (x)
              z = Concat <axis = 0> (n, m)
            }""")
        names = {"B": "1", "S": "3*1"}
        for value in [*model.graph.input, *model.graph.output]:
            for dim in value.type.tensor_type.shape.dim:
                dim.dim_param = names.get(dim.dim_param, dim.dim_param)
        source = self.write("m.onnx", model.SerializeToString())
        feed = {"x": np.random.default_rng(0).random((2, 5, 8), np.float32)}
        want = session(source).run(None, feed)
        for target in ("standard", "portable", "onnx", "ort"):
            self.run_ok("run", source, "-o", "out.onnx", "--target", target)
            got = session(str(self.folder / "out.onnx")).run(None, feed)
            np.testing.assert_allclose(got[0], want[0], rtol=1e-5, atol=1e-6)
            self.assertEqual(got[1].tolist(), [2, 5])
        out = onnx.load(self.folder / "out.onnx").graph.output[0]
        self.assertEqual([d.dim_param for d in out.type.tensor_type.shape.dim],
                         ["1", "3*1", ""])


if __name__ == "__main__":
    unittest.main()
