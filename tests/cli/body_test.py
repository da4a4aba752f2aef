"""`body` of a rule file: what an op of the user's own means. Written as a
function for runtimes, executed by `test`, `--verify` and `exec`."""

import numpy
import onnx
import onnxruntime
from support import make, program, runs

TEXT = """[[ <beta: float = 1.0> (x) => (y) {
    b = Constant <value_float: float = @beta> ()
    c = CastLike(b, x)
    s = Mul(x, c)
    t = Sigmoid(s)
    y = Mul(x, t) } ]]"""
FUNCTION = """function(op, x, attrs)
    return op.Mul(x, op.Sigmoid(op.Mul(x, attrs.beta or 1)))
  end"""
WRONG = {
    "text": "[[ <beta: float = 1.0> (x) => (y) { t = Tanh(x) y = Mul(x, t) } ]]",
    "function": "function(op, x, attrs) return op.Mul(x, op.Tanh(x)) end",
}
EXAMPLE = """examples = {
    { "one", [[
        (float[2,3] x) => (float[2,3] y) <float k = {2.0}> {
          s = Mul(x, k)
          t = Sigmoid(s)
          y = Mul(x, t)
        }]], "y = com.example.Swish <beta = 2.0> (x)" },
  },"""
SWISH = """
swish (float[2,3] x, float[N,3] z) => (float[2,3] y, float[N,3] w)
<float two = {2.0}, float half = {0.5}> {
  a = Mul(x, two)
  b = Sigmoid(a)
  y = Mul(x, b)
  c = Mul(z, half)
  d = Sigmoid(c)
  w = Mul(d, z)
}
"""


def swish(body=TEXT, more=EXAMPLE, rewrite=None):
    """x sigmoid(k x) => Swish(x), with this body."""
    keys = f"""where = function(m)
    m.beta = need(m.k:scalar(), "no constant", m.k)
  end,
  {f'body = {{ ["com.example.Swish"] = {body} }},' if body else ''}
  {more}"""
    return make.rule(
        match="op.Mul(x, op.Sigmoid(op.Mul(x, k)))", names="x, k", more=keys,
        rewrite=rewrite or
        'op["com.example"].Swish{m.x, beta = float(m.beta)}')


def functions(model):
    return sorted((f.domain, f.name, f.overload) for f in model.functions)


class BodyTest(runs.RunTest):
    def setUp(self):
        super().setUp()
        self.write("swish.onnx", make.onnx_bytes(SWISH))

    def tool(self, *words, code):
        """Any code if it is None."""
        done = program.run(*words, cwd=self.folder)
        if code is not None:
            self.assertEqual(done.code, code, done.err)
        return done


class Body(BodyTest):
    def rewritten(self, *words, rule="swish.lua", model="swish.onnx"):
        self.run_ok("run", rule, model, "-o", "out.onnx", *words)
        return onnx.load(self.folder / "out.onnx")

    def check_in_onnx_runtime(self, model="swish.onnx"):
        """The result equals the model there."""
        draw = numpy.random.default_rng(0)
        inputs = {"x": draw.standard_normal((2, 3), dtype=numpy.float32),
                  "z": draw.standard_normal((5, 3), dtype=numpy.float32)}
        found = [onnxruntime.InferenceSession(self.folder / name).run(None, inputs)
                 for name in (model, "out.onnx")]
        for a, b in zip(*found):
            numpy.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)

    def test_portable_writes_a_function(self):
        self.write("swish.lua", swish())
        for target in "portable", "tensorrt":
            with self.subTest(target):
                result = self.rewritten("--target", target, "--verify")
                self.assertEqual(functions(result),
                                 [("com.example", "Swish", "")])
                onnx.checker.check_model(result)
                self.check_in_onnx_runtime()

    def test_a_function_is_called_for_each_signature(self):
        self.write("swish.lua", swish(FUNCTION))
        result = self.rewritten("--target", "portable", "--verify")
        self.assertEqual([f[:2] for f in functions(result)],
                         [("com.example", "Swish")] * 2)
        onnx.checker.check_model(result)
        self.check_in_onnx_runtime()
        result = self.rewritten("--target", "tensorrt", "--verify")
        self.assertEqual(functions(result), [("com.example", "Swish_1", ""),
                                             ("com.example", "Swish_2", "")])
        self.check_in_onnx_runtime()

    def test_equal_calls_share_a_function(self):
        self.write("swish.lua", swish(FUNCTION))
        self.write("two.onnx", make.onnx_bytes("""
            two (float[2,3] x) => (float[2,3] y) <float k = {2.0}> {
              a = Mul(x, k) b = Sigmoid(a) c = Mul(x, b) r = Relu(c)
              d = Mul(r, k) e = Sigmoid(d) y = Mul(r, e) }"""))
        result = self.rewritten("--target", "portable", model="two.onnx")
        self.assertEqual(len(result.functions), 1)
        self.assertEqual(self.ops("out.onnx").count("com.example::Swish"), 2)

    def test_other_targets_leave_the_op(self):
        for body in TEXT, FUNCTION:
            self.write("swish.lua", swish(body))
            for target in "auto", "onnx", "ort", "standard":
                with self.subTest(target):
                    result = self.rewritten("--target", target, "--verify")
                    self.assertFalse(result.functions)
                    self.assertEqual(self.ops("out.onnx"),
                                     ["com.example::Swish"] * 2)

    def test_a_second_run_changes_nothing(self):
        for body in TEXT, FUNCTION:
            self.write("swish.lua", swish(body))
            first = self.rewritten("--target", "portable")
            bytes_of = (self.folder / "out.onnx").read_bytes()
            self.write("out1.onnx", bytes_of)
            again = self.rewritten("--target", "portable")
            self.assertEqual(bytes_of, (self.folder / "out.onnx").read_bytes())
            self.assertEqual(first, again)
            self.rewritten("--target", "portable", model="out1.onnx")
            self.assertEqual(bytes_of, (self.folder / "out.onnx").read_bytes())

    def test_a_function_of_the_model_is_used(self):
        self.write("swish.lua", swish())
        own = SWISH + """
<domain: "com.example", opset_import: ["": 17]>
Swish <beta: float = 1.0> (u) => (v) {
  b = Constant <value_float: float = @beta> ()
  k = Mul(b, u)
  t = Sigmoid(k)
  v = Mul(t, u)
}"""
        self.write("own.onnx", make.onnx_bytes(
            own, '<ir_version: 8, opset_import: ["": 17, "com.example": 1]>\n'))
        result = self.rewritten("--target", "portable", "--verify",
                                model="own.onnx")
        self.assertEqual([f.input[0] for f in result.functions], ["u"])
        self.check_in_onnx_runtime("own.onnx")

    def test_exec_runs_the_result(self):
        self.write("swish.lua", swish())
        self.rewritten("--target", "portable")
        self.run_ok("exec", "out.onnx", "--random")

    def test_exec_takes_bodies_of_rule_files(self):
        for body in TEXT, FUNCTION:
            self.write("swish.lua", swish(body))
            self.rewritten()
            with self.subTest(body):
                done = self.tool("exec", "out.onnx", "--random", code=3)
                self.assertIn("com.example::Swish", done.err)
                found = [self.run_ok("exec", *words, "--random").out
                         for words in (["swish.onnx"], ["out.onnx", "swish.lua"])]
                self.assertEqual(*found)

    def test_examples_are_executed(self):
        for body in TEXT, FUNCTION:
            self.write("swish.lua", swish(body))
            self.assertEqual(self.run_ok("test", "swish.lua").out,
                             "ok       swish: one\n1 passed, 0 failed\n")
        self.write("swish.lua", swish(None))
        self.assertIn("no kernel for com.example.Swish",
                      self.run_ok("test", "swish.lua").out)

    def test_a_wrong_body_is_found(self):
        for name, body in WRONG.items():
            self.write("swish.lua", swish(body))
            with self.subTest(name):
                done = self.tool("test", "swish.lua", code=1)
                self.assertIn("unsound  swish: one", done.out)
                for target in "portable", "auto":
                    done = self.tool("run", "swish.lua", "swish.onnx",
                                         "--verify", "-o", "bad.onnx",
                                         "--target", target, code=6)
                    self.assertIn("swish.lua: rule 'swish' at node", done.err)
                    self.assertFalse((self.folder / "bad.onnx").exists())

    def test_older_opsets(self):
        """A body is read at its own opset and written at that of the model."""
        mean = """[[ (x) => (y) { a = Constant <value = int64[1] {1}> ()
          y = ReduceMean <keepdims = 1> (x, a) } ]]"""
        rule = make.rule(
            match="op.ReduceMean{x, {1}, keepdims = 1}",
            rewrite="op.example.Mean(m.x)",
            more='body = { ["example.Mean"] = BODY },')
        for body in mean, """function(op, x, attrs)
                return op.ReduceMean{x, {1}, keepdims = 1} end""":
            self.write("mean.lua", rule.replace("BODY", body))
            for opset, given in (13, "<axes = [1]> (x)"), (20, "(x, one)"):
                text = f"""m (float[2,3] x, float[N,3] z) => (float[2,1] y)
                  <int64[1] one = {{1}}> {{ y = ReduceMean {given} }}"""
                self.write("mean.onnx", make.onnx_bytes(
                    text, f'<ir_version: 8, opset_import: ["": {opset}]>\n'))
                with self.subTest((opset, body)):
                    result = self.rewritten(
                        "--target", "portable", "--verify", rule="mean.lua",
                        model="mean.onnx")
                    self.assertEqual(result.functions[0].opset_import[0].version,
                                     opset)
                    self.check_in_onnx_runtime("mean.onnx")

    def test_bodies_within_bodies(self):
        inner = '["com.example.Gate"] = [[ (x) => (y) { y = Sigmoid(x) } ]]'
        for outer in (
                """[[ <beta> (x) => (y) {
                  b = Constant <value_float: float = @beta> ()
                  s = Mul(b, x) g = com.example.Gate(s) y = Mul(x, g) } ]]""",
                """function(op, x, attrs) return op.Mul(x,
                  op["com.example"].Gate(op.Mul(x, attrs.beta))) end"""):
            self.write("swish.lua", swish(outer + ", " + inner))
            with self.subTest(outer):
                self.run_ok("test", "swish.lua")
                self.rewritten("--target", "portable", "--verify")
                self.check_in_onnx_runtime()

    def test_ops_of_the_engine_within_bodies(self):
        self.write("dense.onnx", make.onnx_bytes("""
            n (float[2,3] x, float[4,3] u, float[4] b) => (float[2,4] y) {
              t = Transpose <perm = [1,0]> (u) p = MatMul(x, t)
              y = Add(p, b) }"""))
        draw = numpy.random.default_rng(0)
        inputs = {name: draw.standard_normal(shape, dtype=numpy.float32)
                  for name, shape in (("x", (2, 3)), ("u", (4, 3)), ("b", (4,)))}
        for body in (
                "[[ (x, u, b) => (y) { y = ruleengine.Linear(x, u, b) } ]]",
                "function(op, x, u, b, attrs)"
                " return op.ruleengine.Linear(x, u, b) end"):
            self.write("dense.lua", make.rule(
                match="op.Add(op.MatMul(x, op.Transpose{u, perm = {1, 0}}), b)",
                names="x, u, b", rewrite="op.example.Dense(m.x, m.u, m.b)",
                more=f'body = {{ ["example.Dense"] = {body} }},'))
            with self.subTest(body):
                result = self.rewritten("--target", "portable", "--verify",
                                        rule="dense.lua", model="dense.onnx")
                self.assertEqual(len(result.functions), 2)
                a, b = (onnxruntime.InferenceSession(self.folder / name).run(
                    None, inputs)[0] for name in ("dense.onnx", "out.onnx"))
                numpy.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


def fault(body, what, name="com.example.Swish"):
    return f'{{ ["{name}"] = {body} }}', what


# What is found when the file is loaded.
AT_LOAD = {
    "no text": fault('""', "the body of an op: '(' and its inputs"),
    "no graph": fault('"x"', "the body of an op: '(' and its inputs"),
    "open": fault('"(x) => (y) { y = Relu(x)"', "is not understood"),
    "more": fault('"(x) => (y) { y = Relu(x) } z"', "the end of the body"),
    "unknown op": fault('"(x) => (y) { y = Rellu(x) }"', "no such op"),
    "inputs of an op": fault('"(x) => (y) { y = Relu(x, x) }"',
                             "does not take that many inputs"),
    "a name": fault('"(x) => (y) { y = Relu(z) }"',
                    "a value that nothing defines"),
    "an output": fault('"(x) => (z) { y = Relu(x) }"',
                       "a value that nothing defines"),
    "a cycle": fault('"(x) => (y) { y = Add(x, z) z = Relu(y) }"', "cycle"),
    "itself": fault('"(x) => (y) { y = com.example.Swish(x) }"',
                    "calls itself"),
    "a type": fault('"(float[2] x) => (y) { y = Relu(x) }"', "has a type"),
    "a constant": fault(
        '"(x) => (y) <float c = {1.0}> { y = Mul(x, c) }"', "lists a constant"),
    "an attribute": fault(
        '"(x) => (y) { y = Elu <alpha: float = @beta> (x) }"',
        "reads an attribute that it does not declare"),
    "two attributes": fault(
        '"<a, a: int = 1> (x) => (y) { y = Relu(x) }"', "two attributes"),
    "an input": fault('"(x) => (x) { }"', "an output of a body is an input"),
    "a header": fault(
        "'<opset_import: [\"\": 17], domain: \"a\"> (x) => (y) { y = Relu(x) }'",
        "names a function"),
    "an opset": fault(
        "'<opset_import: [\"\": 999]> (x) => (y) { y = Relu(x) }'", "newer"),
    "a number": fault("1", "the body of com.example.Swish"),
    "a word": fault("either", "the body of com.example.Swish"),
    "no attrs": fault("function(op, x) return x end", "parameters of the body"),
    "no parameter": fault("function() end", "parameters of the body"),
    "an op in a function": fault(
        "function(op, x, attrs) return op.Rellu(x) end", "no op 'Rellu'"),
    "no domain": fault('"(x) => (y) { y = Relu(x) }"', "a body is for 'Swish'",
                       "Swish"),
    "the standard's": fault('"(x) => (y) { y = Relu(x) }"',
                            "a body is for 'ai.onnx.Swish'", "ai.onnx.Swish"),
    "the engine's": fault('"(x) => (y) { y = Relu(x) }"',
                          "a body is for 'ruleengine.Swish'",
                          "ruleengine.Swish"),
    "ONNX Runtime's": fault('"(x) => (y) { y = Relu(x) }"',
                            "an op that the engine knows",
                            "com.microsoft.QuickGelu"),
    "no name": fault('"(x) => (y) { y = Relu(x) }"', "no name of an op", "a."),
    "a list": ('{ "(x) => (y) { y = Relu(x) }" }', "`body` of a rule"),
    "no table": ('"(x) => (y) { y = Relu(x) }"', "`body` of a rule"),
}

# What is found when a node of the op is written or run.
AT_CALLS = {
    "another type": ("[[ <beta> (x) => (y) { y = Cast <to = 7> (x) } ]]",
                     "gives another type"),
    "another shape": ("[[ <beta> (x) => (y) { y = Transpose(x) } ]]",
                      "gives another type"),
    "too few inputs": ("[[ <beta> () => (y) {"
                       " y = Constant <value_float = 1.0> () } ]]",
                       "does not fit its body"),
    "no such attribute": ("[[ (x) => (y) { y = Relu(x) } ]]",
                          "does not fit its body"),
    "an attribute missing": ("[[ <beta, gamma> (x) => (y) { y = Relu(x) } ]]",
                             "does not fit its body"),
    "an attribute's type": ("[[ <beta: int = 1> (x) => (y) { y = Relu(x) } ]]",
                            "has another type than in its body"),
    "inputs of a function": ("function(op, attrs) return op.Relu(1) end",
                             "does not fit its body"),
    "nothing": ("function(op, x, attrs) end", "returns too few values"),
    "no value": ("function(op, x, attrs) return 'x' end", "result 1 of the body"),
    "a type by a function": ("function(op, x, attrs) return op.Cast{x, to = 'int64'}"
                             " end", "the body of com.example.Swish"),
    "an error": ("function(op, x, attrs) error('no') end", "no"),
    "endless": ("function(op, x, attrs) while true do end end", "limit"),
    "endless nodes": ("function(op, x, attrs) while true do x = op.Neg(x) end end",
                      "limit"),
    "itself": ('function(op, x, attrs) return op["com.example"].Swish{x,'
               " beta = float(attrs.beta + 1)} end", "calls itself"),
    "each other": ('[[ <beta> (x) => (y) { y = com.example.B(x) } ]],'
                   ' ["com.example.B"] = [[ (x) => (y) {'
                   " y = com.example.Swish <beta = 1.0> (x) } ]]",
                   "calls itself"),
    "a list of handles": ("function(op, x, attrs) return {x} end",
                          "result 1 of the body"),
    "an upvalue": ("(function() local n = 0 return function(op, x, attrs) n = n + 1"
                   " return op.Relu(x) end end)()", "changes 'n'"),
    "an assumption": ("function(op, x, attrs) assume('x is small', x)"
                      " return op.Relu(x) end", "makes an assumption"),
}


class Faults(BodyTest):
    def check(self, done, what):
        self.assertEqual(len(done.diagnostics()), 1, done.err)
        self.assertIn(what, done.err)
        self.assertRegex(done.err, r"where: +swish\.lua:\d+")

    def test_at_load(self):
        for name, (body, what) in AT_LOAD.items():
            self.write("swish.lua", make.rule(more=f"body = {body},"))
            with self.subTest(name):
                self.check(self.tool("run", "swish.lua", "m.onnx", code=4),
                           what)

    def test_at_calls(self):
        for name, (body, what) in AT_CALLS.items():
            self.write("swish.lua", swish(body))
            with self.subTest(name):
                limits = ["--limit-callback", "0.5"]
                done = self.tool("run", "swish.lua", "swish.onnx", *limits,
                                     "--target", "portable", code=None)
                self.assertIn(done.code, (4, 5), done.err)
                self.check(done, what)
                done = self.tool("run", "swish.lua", "swish.onnx", *limits,
                                     "--verify", code=None)
                self.assertIn(done.code, (4, 5), done.err)
                self.check(done, what)

    def test_graphs_as_attributes(self):
        self.write("if.onnx", make.onnx_bytes("""
            g (bool c, float[2] x) => (float[2] y) {
              y = If (c) <then_branch = t () => (float[2] a) { a = Neg(x) },
                          else_branch = e () => (float[2] b) { b = Relu(x) }>
            }"""))
        for body in "'(x) => (y) { y = Identity(x) }'", "function(op, x, attrs) end":
            self.write("swish.lua", make.rule(
                match='op.If{x, attrs = any}:as "n"',
                rewrite="op.example.If{m.x, body = m.n.attrs.then_branch}",
                more=f'body = {{ ["example.If"] = {body} }},'))
            done = self.tool("run", "swish.lua", "if.onnx", "--target",
                             "portable", code=None)
            self.assertIn(done.code, (0, 4), done.err)

    def test_two_files(self):
        self.write("a.lua", swish(TEXT))
        self.write("b.lua", swish(WRONG["text"]))
        done = self.tool("run", "a.lua", "b.lua", "swish.onnx", code=4)
        self.assertIn("there are two bodies of com.example.Swish", done.err)
        self.assertIn("another one at a.lua:", done.err)
        self.write("b.lua", swish(TEXT))
        self.run_ok("run", "a.lua", "b.lua", "swish.onnx")

    def test_need_leaves_the_op(self):
        self.write("swish.lua", swish("""function(op, x, attrs)
          need(type(x.shape[1]) == "number", "the batch is not known", x)
          return op.Mul(x, op.Sigmoid(op.Mul(x, attrs.beta))) end"""))
        done = self.run_ok("run", "swish.lua", "swish.onnx", "--target",
                           "portable")
        self.assertIn("gets no function body: the batch is not known", done.err)
