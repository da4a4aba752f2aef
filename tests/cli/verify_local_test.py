"""`run --verify=local`: each rewrite runs where it is made, before and after it."""

import json
import unittest

import onnx

from support import make, program, runs

HEADER = '<ir_version: 10, opset_import: ["": 21]>'
# 2 * 2 alone equals 2 + 2.
MODEL = """g (float[N,4] x) => (float[N,4] y)
  <float two = {2.0}, float three = {3.0}> {
    r = Relu(x)
    a = Mul(two, two)
    b = Mul(r, three)
    s = Sigmoid(b)
    t = Mul(b, s)
    y = Add(a, t)
  }"""
WRONG = make.rule("op.Mul(x, any 'c')", "op.Add(m.x, m.c)")
RIGHT = make.rule("op.Mul(x, op.Sigmoid(x))", "op.Div(m.x, op.Add("
                  "op.Exp(op.Neg(m.x)), 1.0))")
# It is right where x is no less than 0, which the rule sees above its match.
ABOVE = """return rule {
  match = function(op, x) return op.Abs(x) end,
  where = function(m)
    local above = m.x.producer
    while above and above.op == "Sqrt" do above = above.inputs[1].producer end
    need(above and above.op == "Relu", "x may be less than 0", m.x)
  end,
  rewrite = function(op, m) return m.x end,
}
"""


class VerifyLocal(runs.RunTest):
    def rewrite(self, model, *rules, options=()):
        self.write("m.onnx", make.onnx_bytes(model, HEADER))
        names = [f"r{i}.lua" for i in range(len(rules))]
        for name, rule in zip(names, rules):
            self.write(name, rule)
        done = program.run("run", *names, "m.onnx", "-o", "out.onnx",
                           "--verify=local", "--report", "r.json", *options,
                           cwd=self.folder)
        self.assertEqual(done.code, 0, done.err)
        self.report = json.loads((self.folder / "r.json").read_text())
        self.ops = [n.op_type for n in
                    onnx.load(self.folder / "out.onnx").graph.node]
        return done

    def warnings(self):
        return [each["message"] for each in self.report["warnings"]]

    def test_a_wrong_rewrite_is_undone_and_others_stay(self):
        done = self.rewrite(MODEL, WRONG, RIGHT)
        self.assertEqual(sorted(self.ops),
                         sorted(["Relu", "Mul", "Neg", "Exp", "Add", "Div",
                                 "Add"]))
        self.assertEqual(done.err.count("is undone"), 2, done.err)
        self.assertIn("m.onnx: a rewrite of 'b' is undone, since it computes "
                      "something else: output 'b', float[", done.err)
        wrong = next(r for r in self.report["rules"] if r["name"] == "r0")
        self.assertEqual(wrong["rewrites"], 1)
        self.assertEqual(len(wrong["rejected"]), 1)
        self.assertIn("it computes something else",
                      wrong["rejected"][0]["reason"])
        self.assertEqual(self.report["verified"]["edits"], 2)
        self.assertIn("verified 2 rewrites, each where it was made", done.err)
        self.run_ok("run", "r1.lua", "out.onnx", "--verify", "--dry-run")

    def test_twice_the_same(self):
        first = self.rewrite(MODEL, WRONG, RIGHT, options=["-q"]).err
        bytes_of_first = (self.folder / "out.onnx").read_bytes()
        self.assertEqual(
            self.rewrite(MODEL, WRONG, RIGHT, options=["-q"]).err, first)
        self.assertEqual((self.folder / "out.onnx").read_bytes(),
                         bytes_of_first)

    def test_what_a_rule_knows_of_its_inputs(self):
        for between in (0, 1, 2, 8, 20):
            with self.subTest(between=between):
                chain = "".join(f"e{i + 1} = Sqrt(e{i}) "
                                for i in range(between))
                self.rewrite(f"""g (float[N,80] x) => (float[N,80] y) {{
                  e0 = Relu(x) {chain} y = Abs(e{between}) }}""", ABOVE)
                self.assertNotIn("Abs", self.ops)
                self.assertEqual(self.warnings(), [])

    def test_what_it_thinks_to_know(self):
        self.rewrite("""g (float[N,80] x) => (float[N,80] y) {
          e0 = Neg(x) y = Abs(e0) }""", ABOVE.replace('"Relu"', '"Neg"'))
        self.assertEqual(self.ops, ["Neg", "Abs"])
        self.assertEqual(len(self.warnings()), 1)

    def test_in_bodies(self):
        for model, stays in (
            ("""g (float[N] x, bool c) => (float[N] y) {
               y = If (c) <then_branch = t () => (float[N] a) { a = Neg(x) },
                           else_branch = e () => (float[N] b) { b = Sin(x) }>
             }""", "Neg"),
            ("""g (float[N] x, int64 n) => (float[N] y) {
               y = Loop (n, , x) <body = b (int64 i, bool c, float[N] v)
                 => (bool d, float[N] w) { d = Identity(c) w = Neg(v) }>
             }""", "Neg")):
            for rewrite, undone in (("op.Abs(m.x)", 1), ("op.Sub(0.0, m.x)", 0)):
                with self.subTest(model, rewrite=rewrite):
                    self.rewrite(model, make.rule("op.Neg(x)", rewrite))
                    self.assertEqual(len(self.warnings()), undone)
                    text = onnx.printer.to_text(
                        onnx.load(self.folder / "out.onnx"))
                    self.assertEqual(stays in text, bool(undone))

    def test_in_functions(self):
        text = """<ir_version: 10, opset_import: ["": 21, "local": 1]>
          g (float[N] x) => (float[N] y) { a = local.f(x) y = local.f(a) }
          <domain: "local", opset_import: ["": 21]>
          f (v) => (w) { t = Neg(v) w = Sin(t) }"""
        for rewrite, undone in (("op.Abs(m.x)", 1), ("op.Sub(0.0, m.x)", 0)):
            with self.subTest(rewrite):
                self.rewrite(text, make.rule("op.Neg(x)", rewrite))
                self.assertEqual(len(self.warnings()), undone)

    def test_what_cannot_be_run_stays(self):
        self.write("m.onnx", make.onnx_bytes(
            """g (float[4] x) => (float[4] y) <float[4] a, float[4] d> {
              a = acme.Secret(x) b = Neg(a) c = Neg(b)
              d = acme.Secret(c) y = acme.Secret(d) }""",
            '<ir_version: 8, opset_import: ["": 17, "acme": 1]>'))
        self.write("neg.lua", make.rule("op.Neg(op.Neg(x))", "m.x"))
        self.write("twice.lua", make.rule(
            "op.acme.Secret(op.acme.Secret(x))", "op.acme.Secret(m.x)"))
        done = self.run_ok("run", "neg.lua", "twice.lua", "m.onnx", "-o",
                           "out.onnx", "--verify=local")
        self.assertIn("2 rewrites were not verified: no kernel for acme.Secret",
                      done.err)
        self.assertIn("(twice)", done.err)
        self.assertIn("verified 1 rewrite, ", done.err)

    def test_beside_what_cannot_be_run(self):
        """No cut with small values can be run; the node itself can."""
        self.write("m.onnx", make.onnx_bytes(
            """g (float[3] x) => (float[3] y) <int64[1] s = {3}> {
              a = acme.Secret(x) c = Cast <to = 1> (a) r = Reshape(c, s)
              y = Neg(r) }""",
            '<ir_version: 8, opset_import: ["": 17, "acme": 1]>'))
        for rewrite, says in (("op.Abs(m.x)", "is undone"),
                              ("op.Sub(0.0, m.x)", "verified 1 rewrite")):
            self.write("r.lua", make.rule("op.Neg(x)", rewrite))
            done = self.run_ok("run", "r.lua", "m.onnx", "-o", "out.onnx",
                               "--verify=local")
            self.assertIn(says, done.err)

    def test_random_numbers(self):
        """Both sides draw them under other names."""
        self.write("m.onnx", make.onnx_bytes(
            """g (float[N,4] x) => (float[N,4] y) {
              r = RandomNormalLike(x) y = Add(x, r) }"""))
        self.write("r.lua", make.rule("op.Add(x, op.RandomNormalLike(x))",
                                      "op.Abs(m.x)"))
        done = self.run_ok("run", "r.lua", "m.onnx", "-o", "out.onnx",
                           "--verify=local")
        self.assertIn("1 rewrite was not verified", done.err)
        self.run_bad(6, "run", "r.lua", "m.onnx", "-o", "out.onnx",
                     "--verify", says="depends on random numbers")

    def test_a_doubt(self):
        """A size of 0 proves nothing where the rewrite assumes that there is
        none."""
        self.write("m.onnx", make.onnx_bytes(
            """g (int64[B,S,8] x) => (int64[N,S,4] y)
              <int64[1] two = {2}, int64[1] four = {4},
               int64[1] zero = {0}, int64[1] one = {1}> {
              w = Shape(x)
              b = Gather <axis = 0> (w, zero) s = Gather <axis = 0> (w, one)
              n = Mul(b, two) sizes = Concat <axis = 0> (n, s, four)
              q = Reshape(x, sizes) y = Neg(q) }"""))
        self.write("r.lua", make.rule(
            "op.Neg(op.Reshape{x, t})",
            "op.Sub(0, op.Reshape{op.Reshape{m.x, {-1, 8}}, m.t})", "x, t"))
        done = self.run_ok("run", "r.lua", "m.onnx", "-o", "out.onnx",
                           "--verify=local")
        self.assertIn("rests on the assumption", done.err)
        self.assertIn("verified 1 rewrite", done.err)

    def test_a_limit_ends_it(self):
        self.write("m.onnx", make.onnx_bytes(
            """g (int64 n, float[3] x) => (float[3] y) <int64 h = {1000000000}> {
              k = Mul(n, h)
              y = Loop (k, , x) <body = b (int64 i, bool c, float[3] a)
                => (bool d, float[3] s) { d = Identity(c) s = Neg(a) }> }"""))
        self.write("r.lua", make.rule("op.Neg(x)", "op.Sub(0.0, m.x)"))
        self.run_ok("run", "r.lua", "m.onnx", "-o", "out.onnx",
                    "--verify=local", "--limit-time", "20")

    def test_ops_of_the_users_own(self):
        for formula, undone in (("Sigmoid", 0), ("Tanh", 1)):
            with self.subTest(formula):
                rule = make.rule("op.Mul(x, op.Sigmoid(x))",
                                 'op["com.example"].Swish(m.x)')
                self.rewrite(
                    """g (float[N,4] x) => (float[N,4] y) {
                      s = Sigmoid(x) y = Mul(x, s) }""",
                    rule.replace("return rule {", f"""return rule {{
                      body = {{ ["com.example.Swish"] = [[ (x) => (y) {{
                        s = {formula}(x) y = Mul(x, s) }} ]] }},"""))
                self.assertEqual("Swish" in self.ops, not undone)
                self.assertEqual(len(self.warnings()), undone)

    def test_each_model_for_itself(self):
        self.write("wrong.lua", WRONG)
        self.write("m.onnx", make.onnx_bytes(MODEL, HEADER))
        self.write("n.onnx", make.onnx_bytes(
            """g (float[N,4] x) => (float[N,4] y) <float two = {2.0}> {
              a = Mul(two, two) y = Add(x, a) }""", HEADER))
        self.run_ok("run", "wrong.lua", "m.onnx", "n.onnx", "-o", "out",
                    "--verify=local", "--report", "r.json")
        reports = json.loads((self.folder / "r.json").read_text())
        self.assertEqual([len(r["warnings"]) for r in reports], [2, 0])
        self.assertEqual([r["verified"]["edits"] for r in reports], [1, 1])

    def test_edits(self):
        model = """g (float[4] x) => (float[4] y) <float c = {0.001}> {
          y = Add(x, c) }"""
        drop = make.rule("op.Add(x, any)", "op.Identity(m.x)")
        for says, undone in (("true", 0), ("{abs = 0.01, rel = 0}", 0),
                             ("{abs = 0.0001, rel = 0}", 1)):
            with self.subTest(says):
                self.rewrite(model, drop.replace(
                    "return rule {", f"return rule {{ changes_meaning = {says},"))
                self.assertEqual("Add" in self.ops, bool(undone))
                self.assertEqual(len(self.warnings()), undone)

    def test_what_is_folded_is_the_same(self):
        # The runs of cuts must not change how products are folded later.
        numbers = ", ".join(f"{(i * 37 % 101 - 50) / 7:.6g}"
                            for i in range(64 * 64))
        self.write("m.onnx", make.onnx_bytes(
            f"""g (float[N,64] x) => (float[N,64] y, float[N,64] z)
            <float[64,64] a = {{{numbers}}}> {{
              b = MatMul(a, a) y = MatMul(x, b)
              p = MatMul(x, a) z = Neg(p) }}""", HEADER))
        self.write("first.lua", make.rule(
            "op.Neg(op.MatMul(x, any 'w'))", "op.MatMul(op.Neg(m.x), m.w)"
        ).replace("return rule {", 'return rule { phase = "canonical",'))
        rules = sorted((program.ROOT / "rules").glob("*.lua"))
        for how in ((), ("--verify=local",)):
            self.run_ok("run", "first.lua", *rules, "m.onnx", "-o",
                        f"{len(how)}.onnx", *how)
        self.assertIn(b"MatMul", (self.folder / "0.onnx").read_bytes())
        self.assertEqual((self.folder / "0.onnx").read_bytes(),
                         (self.folder / "1.onnx").read_bytes())

    def test_the_same_result(self):
        models = sorted((program.ROOT / "examples").glob("*.onnx"))
        self.assertTrue(models)
        for model in models:
            for target in ("auto", "standard", "ort"):
                with self.subTest(model.name, target=target):
                    words = ("run", *sorted((program.ROOT / "rules")
                                            .glob("*.lua")),
                             model, "--target", target)
                    self.run_ok(*words, "-o", "a.onnx")
                    self.run_ok(*words, "-o", "b.onnx", "--verify=local")
                    self.assertEqual((self.folder / "a.onnx").read_bytes(),
                                     (self.folder / "b.onnx").read_bytes())


if __name__ == "__main__":
    unittest.main()
